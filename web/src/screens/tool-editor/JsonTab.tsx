import { Button } from '@mantine/core';
import { type FormEvent, lazy, type ReactNode, Suspense, useState } from 'react';
import { parseJson } from '~/api/json';
import type { ToolBody } from '~/api/tools';
import { Card } from '~/components/Card';
import { ErrorNotice } from '~/components/ErrorNotice';
import { Loading } from '~/components/Loading';
import { Notice } from '~/components/Notice';
import { useMessages } from '~/i18n';
import css from './toolEditor.module.css';
import type { useSaveTool } from './useSaveTool';

const JsonEditor = lazy(() => import('./JsonEditor'));

interface Props {
  text: string;
  onChange: (text: string) => void;
  versionFields: ReactNode;
  saving: ReturnType<typeof useSaveTool>;
  onSave: (body: ToolBody) => void;
}

export function JsonTab({ text, onChange, versionFields, saving, onSave }: Props) {
  const messages = useMessages();
  const [isInvalid, setInvalid] = useState(false);
  // The version fields show their own errors.
  const { bundleSlug: _bundleSlug, slug: _slug, version: _version, ...definitionErrors } = saving.fieldErrors;
  const handleSubmit = (event: FormEvent) => {
    event.preventDefault();
    const body = parseJson(text);
    setInvalid(body === undefined);
    if (body !== undefined) onSave(body as ToolBody);
  };
  return (
    <form className={css.steps} onSubmit={handleSubmit}>
      <Card className={css.step}>
        {versionFields}
        <Suspense fallback={<Loading />}>
          <JsonEditor text={text} errors={definitionErrors} onChange={onChange} />
        </Suspense>
      </Card>
      {isInvalid && <Notice tone="danger">{messages.errors.json}</Notice>}
      {saving.error ? <ErrorNotice error={saving.error} /> : null}
      <div className={css.footer}>
        <Button type="submit" size="md" loading={saving.isSaving}>
          {messages.editor.save}
        </Button>
      </div>
    </form>
  );
}
