import type { Diagnostic } from '@codemirror/lint';
import type { EditorView } from '@codemirror/view';
import { useQuery } from '@tanstack/react-query';
import { useCallback } from 'react';
import { send } from '~/api/client';
import { parseJson } from '~/api/json';
import CodeEditor from '~/components/CodeEditor';
import { findErrors } from '~/forms/validator';
import { useMessages } from '~/i18n';
import { locateValue } from './locateValue';
import css from './toolEditor.module.css';

interface Props {
  text: string;
  /** Errors from the server, by path. */
  errors: Record<string, string>;
  onChange: (text: string) => void;
}

/** Edits the definition of a tool as JSON and marks errors in the text. */
export default function JsonEditor({ text, errors, onChange }: Props) {
  const messages = useMessages();
  const schema = useToolSchema().data;
  const validate = useCallback(
    (view: EditorView): Diagnostic[] => {
      const value = parseJson(view.state.doc.toString());
      const schemaErrors = schema && value !== undefined ? findErrors(schema, value) : [];
      const serverErrors = Object.entries(errors).map(([path, message]) => ({ path: path.split('.'), message }));
      return [...schemaErrors, ...serverErrors].map(({ path, message }) => ({
        ...locateValue(view.state, path),
        severity: 'error',
        message,
      }));
    },
    [schema, errors],
  );
  return (
    <>
      <p className={css.muted}>{messages.editor.jsonLead}</p>
      <CodeEditor
        label={messages.editor.jsonTab}
        language="json"
        value={text}
        onChange={onChange}
        validate={validate}
        minHeight={320}
      />
      {Object.entries(errors).map(([path, message]) => (
        <p key={path} className={css.error} role="alert">
          <code>{path}</code> {message}
        </p>
      ))}
    </>
  );
}

/** Load the JSON Schema of a tool definition from the server's OpenAPI document. */
function useToolSchema() {
  return useQuery({
    queryKey: ['openapi'],
    staleTime: Infinity,
    queryFn: async () => {
      const document = (await (await send('/openapi.json')).json()) as { components: object };
      return { $ref: '#/components/schemas/ToolBody', components: document.components };
    },
  });
}
