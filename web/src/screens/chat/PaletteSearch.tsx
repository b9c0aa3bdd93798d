import { Switch, TextInput } from '@mantine/core';
import { useDebouncedValue } from '@mantine/hooks';
import { type KeyboardEvent, useEffect, useMemo, useRef, useState } from 'react';
import { flattenPages, type Tool, useToolSearch, useTools } from '~/api/tools';
import { ErrorNotice } from '~/components/ErrorNotice';
import { Icon } from '~/components/Icon';
import { Loading } from '~/components/Loading';
import { useMessages } from '~/i18n';
import { groupVersions } from '~/screens/tools/rows';
import { PaletteItem } from './PaletteItem';
import css from './palette.module.css';

/** Longer lists are not practical to browse. Searching finds the rest. */
const MAX_ITEMS = 60;

interface Props {
  onSelect: (tool: Tool) => void;
  onPlus: () => void;
}

export function PaletteSearch({ onSelect, onPlus }: Props) {
  const messages = useMessages();
  const [text, setText] = useState('');
  const query = text.trim().replace(/^\++/, '');
  const [debouncedQuery] = useDebouncedValue(query, 100);
  const [showDisabled, setShowDisabled] = useState(false);
  const allTools = useTools(showDisabled, debouncedQuery === '');
  const searchResults = useToolSearch(debouncedQuery, showDisabled);
  const tools = debouncedQuery === '' ? allTools : searchResults;
  const groups = useMemo(() => groupVersions(flattenPages(tools.data)).slice(0, MAX_ITEMS), [tools.data]);
  const list = useRef<HTMLUListElement>(null);
  const input = useRef<HTMLInputElement>(null);
  const firstTool = groups.find(({ main }) => main.isEnabled)?.main;
  // Enter may be pressed before the results arrive. It then selects the first of them.
  const [isSubmitted, setSubmitted] = useState(false);
  const isSettled = debouncedQuery === query && !tools.isFetching;
  useEffect(() => {
    if (!isSubmitted || !isSettled) return;
    setSubmitted(false);
    if (firstTool) onSelect(firstTool);
  }, [isSubmitted, isSettled, firstTool, onSelect]);
  const handleArrows = (event: KeyboardEvent) => {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (!step) return;
    event.preventDefault();
    const items = [...(list.current?.querySelectorAll<HTMLButtonElement>('[data-choice]') ?? [])];
    const index = items.findIndex((item) => item.closest('li')?.contains(document.activeElement)) + step;
    (index < 0 ? input.current : (items[index] ?? items.at(-1)))?.focus();
  };
  const handleInputKey = (event: KeyboardEvent) => {
    if (event.key === '+' && text === '') {
      event.preventDefault();
      onPlus();
    }
    if (event.key !== 'Enter' || event.nativeEvent.isComposing) return;
    event.preventDefault();
    setSubmitted(true);
  };
  return (
    <search onKeyDown={handleArrows}>
      <TextInput
        ref={input}
        data-autofocus
        aria-label={messages.palette.search}
        placeholder={messages.palette.search}
        leftSection={<Icon name="search" size={16} />}
        value={text}
        onChange={(event) => setText(event.currentTarget.value)}
        onKeyDown={handleInputKey}
      />
      <div className={css.bar}>
        <span className={`${css.hint} ${css.keys}`}>{messages.palette.keys}</span>
        <Switch
          size="xs"
          label={messages.palette.showDisabled}
          checked={showDisabled}
          onChange={(event) => setShowDisabled(event.currentTarget.checked)}
        />
      </div>
      {tools.error ? <ErrorNotice error={tools.error} /> : null}
      {tools.isLoading && <Loading />}
      {tools.data && groups.length === 0 && <p className={css.hint}>{messages.palette.noResults}</p>}
      <ul ref={list} className={css.list} aria-label={messages.palette.title}>
        {groups.map((group) => (
          <PaletteItem key={`${group.main.bundleID}/${group.main.slug}`} group={group} onSelect={onSelect} />
        ))}
      </ul>
    </search>
  );
}
