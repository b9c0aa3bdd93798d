import { Button } from '@mantine/core';
import { type FormEvent, useState } from 'react';
import { type PromptDefinition, useGetPrompt } from '~/api/contents';
import { ErrorNotice } from '~/components/ErrorNotice';
import { useMessages } from '~/i18n';
import { ArgumentField } from './ArgumentField';
import { ContentView } from './ContentView';
import { EntryCard } from './EntryCard';
import css from './resources.module.css';

/** A prompt: its arguments are filled in, then its messages are shown. */
export function PromptItem({ prompt }: { prompt: PromptDefinition }) {
  const messages = useMessages();
  const getting = useGetPrompt(prompt.name);
  const [values, setValues] = useState<Record<string, string>>({});
  const submit = (event: FormEvent) => {
    event.preventDefault();
    getting.mutate(Object.fromEntries(Object.entries(values).filter(([, value]) => value !== '')));
  };
  return (
    <EntryCard name={prompt.name} title={prompt.title} server={prompt.server} text={prompt.description}>
      <form className={css.form} onSubmit={submit}>
        {prompt.arguments.map(({ name, description, required }) => (
          <ArgumentField
            key={name}
            reference={{ type: 'ref/prompt', name: prompt.name }}
            name={name}
            description={description ?? undefined}
            isRequired={required}
            values={values}
            onChange={setValues}
          />
        ))}
        <Button type="submit" size="compact-sm" variant="default" loading={getting.isPending}>
          {messages.resources.show}
        </Button>
      </form>
      {getting.error ? <ErrorNotice error={getting.error} /> : null}
      {getting.data?.messages.map(({ role, content }, index) => (
        <div key={index}>
          <h3 className={css.role}>{String(role)}</h3>
          <ContentView parts={[content]} />
        </div>
      ))}
    </EntryCard>
  );
}
