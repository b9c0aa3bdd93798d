import { SegmentedControl } from '@mantine/core';
import { type FormEvent, lazy, useState } from 'react';
import { parseJson, stringify } from '~/api/json';
import { Notice } from '~/components/Notice';
import { useMessages } from '~/i18n';
import css from './tester.module.css';
import type { Args } from './useCall';

const SchemaForm = lazy(() => import('~/forms/SchemaForm'));
const CodeEditor = lazy(() => import('~/components/CodeEditor'));

interface Props {
  formId: string;
  schema: object;
  args: Args;
  onChange: (args: Args) => void;
  onSubmit: () => void;
}

/** Edits arguments as a form or as JSON. */
export function ArgumentsEditor({ formId, schema, args, onChange, onSubmit }: Props) {
  const messages = useMessages();
  /** The text of the JSON view, or null in the form view. */
  const [text, setText] = useState<string | null>(null);
  const [isInvalid, setInvalid] = useState(false);
  const handleText = (newText: string) => {
    const value = parseJson(newText || '{}');
    const isObject = typeof value === 'object' && value !== null && !Array.isArray(value);
    setText(newText);
    setInvalid(!isObject);
    if (isObject) onChange(value as Args);
  };
  const changeView = (view: string) => {
    setText(view === 'json' ? stringify(args) : null);
    setInvalid(false);
  };
  const submitText = () => !isInvalid && onSubmit();
  const handleSubmit = (event: FormEvent) => {
    event.preventDefault();
    submitText();
  };
  return (
    <>
      <div className={css.row}>
        <h2 className={css.heading}>{messages.tester.args}</h2>
        <span className={css.spacer} />
        <SegmentedControl
          size="xs"
          aria-label={messages.tester.args}
          value={text === null ? 'form' : 'json'}
          data={[
            { value: 'form', label: messages.tester.formView },
            { value: 'json', label: messages.tester.jsonView },
          ]}
          onChange={changeView}
        />
      </div>
      {text === null ? (
        <SchemaForm id={formId} schema={schema} value={args} onChange={onChange} onSubmit={onSubmit} />
      ) : (
        <form id={formId} onSubmit={handleSubmit}>
          <CodeEditor
            label={messages.tester.jsonView}
            language="json"
            value={text}
            onChange={handleText}
            onRun={submitText}
            minHeight={140}
          />
          {isInvalid && <Notice tone="warning">{messages.errors.jsonObject}</Notice>}
        </form>
      )}
    </>
  );
}
