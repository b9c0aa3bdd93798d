import { ActionIcon, Button, TextInput } from '@mantine/core';
import { type FormEvent, useState } from 'react';
import type { Tool } from '~/api/tools';
import { Icon } from '~/components/Icon';
import { useMessages } from '~/i18n';
import { RequestRow } from './RequestRow';
import { MAX_SAVED } from './storedArgs';
import css from './tester.module.css';
import type { Args } from './useCall';
import { useSavedRequests } from './useStoredArgs';

interface Props {
  tool: Tool;
  args: Args;
  onSelect: (args: Args) => void;
  onRun: (args: Args) => void;
}

/** Requests that the user saved in this browser: use one again, run it, delete it. */
export function SavedRequests({ tool, args, onSelect, onRun }: Props) {
  const { common, requests: texts } = useMessages();
  const { requests, save, remove } = useSavedRequests(tool);
  const [name, setName] = useState('');
  const [error, setError] = useState('');
  const trimmed = name.trim();
  const isFull = requests.length >= MAX_SAVED && !requests.some((request) => request.name === trimmed);
  const submit = (event: FormEvent) => {
    event.preventDefault();
    if (trimmed === '') return;
    const isSaved = !isFull && save(trimmed, args);
    setError(isSaved ? '' : isFull ? texts.full(MAX_SAVED) : texts.noRoom);
    if (isSaved) setName('');
  };
  return (
    <section className={css.section} aria-label={texts.title}>
      <h3>{texts.title}</h3>
      {requests.map((request) => (
        <RequestRow
          key={request.name}
          label={request.name}
          onSelect={() => onSelect(request.args)}
          onRun={() => onRun(request.args)}
          actions={
            <ActionIcon
              variant="subtle"
              color="gray"
              aria-label={texts.remove(request.name)}
              onClick={() => remove(request.name)}
            >
              <Icon name="trash" size={15} />
            </ActionIcon>
          }
        >
          <span>{request.name}</span>
          <code>{JSON.stringify(request.args)}</code>
        </RequestRow>
      ))}
      <form className={css.saveForm} onSubmit={submit}>
        <TextInput
          size="xs"
          aria-label={texts.name}
          placeholder={texts.name}
          description={texts.hint}
          inputWrapperOrder={['input', 'description', 'error']}
          maxLength={100}
          value={name}
          error={error}
          onChange={(event) => setName(event.currentTarget.value)}
        />
        <Button type="submit" size="xs" variant="default" disabled={trimmed === ''}>
          {common.save}
        </Button>
      </form>
    </section>
  );
}
