import { Button, Textarea, TextInput } from '@mantine/core';
import { useDebouncedValue } from '@mantine/hooks';
import { type FormEvent, lazy, Suspense, useState } from 'react';
import { type Literal, replaceLiterals, useReplacedLiterals } from '~/api/code';
import { errorMessage, Problem } from '~/api/problem';
import type { Bundle, ToolBody } from '~/api/tools';
import { ErrorNotice } from '~/components/ErrorNotice';
import { Loading } from '~/components/Loading';
import { Notice } from '~/components/Notice';
import { useMessages } from '~/i18n';
import { Step } from '~/screens/tool-editor/Step';
import { NEW_BUNDLE } from '~/screens/tool-editor/target';
import css from '~/screens/tool-editor/toolEditor.module.css';
import { useSaveTool } from '~/screens/tool-editor/useSaveTool';
import { VersionFields } from '~/screens/tool-editor/VersionFields';
import { LiteralFields } from './LiteralFields';
import { type Choices, errorsByLiteral, toParameters } from './literals';

const CodeEditor = lazy(() => import('~/components/CodeEditor'));
const DEBOUNCE_MS = 300;

interface Props {
  code: string;
  literals: Literal[];
  bundles: Bundle[];
}

/** The values of a program that become inputs, and the name of the new tool. */
export function SaveCodeForm({ code, literals, bundles }: Props) {
  const { codeTools, editor } = useMessages();
  const [choices, setChoices] = useState<Choices>({});
  const [texts, setTexts] = useState({ displayName: '', description: '' });
  const [target, setTarget] = useState({
    bundle: bundles[0]?.id ?? NEW_BUNDLE,
    bundleSlug: '',
    slug: '',
    version: 'v1',
  });
  const { save, error, fieldErrors, isSaving } = useSaveTool();
  const parameters = toParameters(choices);
  const [shown] = useDebouncedValue(parameters, DEBOUNCE_MS);
  const preview = useReplacedLiterals(code, shown);
  const previewErrors = preview.error instanceof Problem ? preview.error.fields : {};
  const handleSubmit = (event: FormEvent) => {
    event.preventDefault();
    const createBody = async () => {
      const { program, argSchema } = await replaceLiterals(code, parameters);
      return { ...texts, tags: [], isEnabled: true, type: 'code', argSchema, codeImpl: { program } } as ToolBody;
    };
    void save(target, createBody, (bundle) => setTarget((current) => ({ ...current, bundle })));
  };
  const field = (name: keyof typeof texts) => ({
    label: editor[name],
    value: texts[name],
    error: fieldErrors[name],
    onChange: (event: { currentTarget: { value: string } }) => {
      const { value } = event.currentTarget;
      setTexts((current) => ({ ...current, [name]: value }));
    },
  });
  return (
    <form className={css.steps} onSubmit={handleSubmit}>
      <Step number={1} title={codeTools.literals}>
        <LiteralFields
          code={code}
          literals={literals}
          choices={choices}
          errors={errorsByLiteral({ ...fieldErrors, ...previewErrors }, parameters)}
          onChange={setChoices}
        />
      </Step>
      <Step number={2} title={codeTools.nameStep}>
        <VersionFields
          target={target}
          bundles={bundles}
          isNewVersion={false}
          errors={fieldErrors}
          onChange={(changes) => setTarget((current) => ({ ...current, ...changes }))}
        />
        <TextInput {...field('displayName')} />
        <Textarea {...field('description')} description={editor.descriptionHint} autosize minRows={2} />
      </Step>
      <Step number={3} title={codeTools.savedProgram}>
        {preview.error ? <Notice tone="warning">{errorMessage(preview.error)}</Notice> : null}
        <Suspense fallback={<Loading />}>
          <CodeEditor
            label={codeTools.savedProgram}
            language="python"
            value={(preview.data?.program ?? code).trimEnd()}
            readOnly
            minHeight={60}
          />
        </Suspense>
      </Step>
      {error ? <ErrorNotice error={error} /> : null}
      <div className={css.footer}>
        <Button type="submit" size="md" loading={isSaving}>
          {editor.save}
        </Button>
      </div>
    </form>
  );
}
