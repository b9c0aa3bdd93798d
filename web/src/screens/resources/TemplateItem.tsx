import { Button } from '@mantine/core';
import { type FormEvent, useState } from 'react';
import { type Template, useReadResource } from '~/api/contents';
import { useMessages } from '~/i18n';
import { ArgumentField } from './ArgumentField';
import { ReadableCard } from './ReadableCard';
import css from './resources.module.css';
import { expandTemplate, templateNames } from './uriTemplate';

/** A template: its variables are filled in, then the resource is read. */
export function TemplateItem({ template }: { template: Template }) {
  const messages = useMessages();
  const reading = useReadResource();
  const [values, setValues] = useState<Record<string, string>>({});
  const uri = expandTemplate(template.uriTemplate, values);
  const submit = (event: FormEvent) => {
    event.preventDefault();
    reading.mutate(uri);
  };
  return (
    <ReadableCard name={template.uriTemplate} entry={template} reading={reading}>
      <form className={css.form} onSubmit={submit}>
        {templateNames(template.uriTemplate).map((name) => (
          <ArgumentField
            key={name}
            reference={{ type: 'ref/resource', uri: template.uriTemplate }}
            name={name}
            values={values}
            onChange={setValues}
          />
        ))}
        <code className={css.name}>{uri}</code>
        <Button type="submit" size="compact-sm" variant="default" loading={reading.isPending}>
          {messages.resources.read}
        </Button>
      </form>
    </ReadableCard>
  );
}
