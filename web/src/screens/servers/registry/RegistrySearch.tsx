import { Button, TextInput } from '@mantine/core';
import { type FormEvent, useState } from 'react';
import { type RegistryEntry, useRegistrySearch } from '~/api/registry';
import { Notice } from '~/components/Notice';
import { QueryView } from '~/components/QueryView';
import { useMessages } from '~/i18n';
import { OfflineNotice } from './OfflineNotice';
import { RegistryItem } from './RegistryItem';
import css from './registry.module.css';

interface Props {
  search: string;
  onSearch: (search: string) => void;
  onChoose: (entry: RegistryEntry) => void;
}

export function RegistrySearch({ search, onSearch, onChoose }: Props) {
  const messages = useMessages();
  const [words, setWords] = useState(search);
  const query = useRegistrySearch(search);
  const submit = (event: FormEvent) => {
    event.preventDefault();
    onSearch(words.trim());
  };
  return (
    <div className={css.column}>
      <form className={css.searchForm} onSubmit={submit}>
        <TextInput
          aria-label={messages.registry.search}
          placeholder={messages.registry.searchHint}
          value={words}
          maxLength={200}
          data-autofocus
          onChange={(event) => setWords(event.currentTarget.value)}
        />
        <Button type="submit" disabled={words.trim() === ''}>
          {messages.registry.submitSearch}
        </Button>
      </form>
      <p className={css.muted}>{messages.registry.lead}</p>
      {search !== '' && (
        <QueryView query={query}>
          {({ servers, isComplete, skipped, offline }) => (
            <>
              <OfflineNotice offline={offline} />
              {servers.length ? (
                <ul className={css.results} aria-label={messages.registry.results}>
                  {servers.map((entry) => (
                    <RegistryItem key={entry.name} entry={entry} onChoose={() => onChoose(entry)} />
                  ))}
                </ul>
              ) : (
                <Notice>{messages.registry.noResults}</Notice>
              )}
              {!isComplete && <p className={css.muted}>{messages.registry.moreResults}</p>}
              {skipped > 0 && <p className={css.muted}>{messages.registry.skipped(skipped)}</p>}
            </>
          )}
        </QueryView>
      )}
    </div>
  );
}
