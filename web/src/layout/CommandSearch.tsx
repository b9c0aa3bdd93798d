import { TextInput, useComputedColorScheme, useMantineColorScheme } from '@mantine/core';
import { useDebouncedValue } from '@mantine/hooks';
import { type KeyboardEvent, useEffect, useId, useMemo, useRef, useState } from 'react';
import { useLocation } from 'wouter';
import { useMe } from '~/api/members';
import { flattenPages, useToolSearch } from '~/api/tools';
import { WORKSPACE } from '~/api/workspace';
import { Icon } from '~/components/Icon';
import { LANGUAGES, useLanguage } from '~/i18n';
import { toolPath } from '~/screens/tools/paths';
import { groupVersions } from '~/screens/tools/rows';
import { CommandOptions, type OptionGroup } from './CommandOptions';
import { actionItems, type CommandItem, matchItems, pageItems } from './commandItems';
import css from './commands.module.css';

const MAX_TOOLS = 8;
const SEARCH_DELAY_MS = 120;

// At once: the dialog moves the focus a moment later, and what is typed until then would be lost.
const focus = (field: HTMLInputElement | null) => field?.focus();

/** The field and the list of the palette. `onDone` gets whether another page was opened. */
export function CommandSearch({ onDone }: { onDone: (isOtherPage: boolean) => void }) {
  const { messages, setLanguage } = useLanguage();
  const { setColorScheme } = useMantineColorScheme({ keepTransitions: true });
  const isDark = useComputedColorScheme('light') === 'dark';
  const [, navigate] = useLocation();
  const me = useMe().data;
  const id = useId();
  const [text, setText] = useState('');
  const [active, setActive] = useState(0);
  const query = text.trim();
  const [debouncedQuery] = useDebouncedValue(query, SEARCH_DELAY_MS);
  const search = useToolSearch(debouncedQuery, false);
  const isSettled = debouncedQuery === query && !search.isFetching;
  const tools = useMemo(
    () => (debouncedQuery ? groupVersions(flattenPages(search.data)).slice(0, MAX_TOOLS) : []),
    [search.data, debouncedQuery],
  );
  // Until it is known who is logged in to a workspace, there is nothing that they surely may see.
  const isKnown = !WORKSPACE || me !== undefined;
  // Pages and actions that match by name come before tools, which match by meaning.
  const groups: OptionGroup[] = [
    { label: messages.commands.pages, items: isKnown ? matchItems(pageItems(messages, me), query) : [] },
    { label: messages.commands.actions, items: isKnown ? matchItems(actionItems(messages, me, LANGUAGES), query) : [] },
    {
      label: messages.nav.tools,
      items: (query ? tools : []).map(({ main }) => ({
        id: `tool-${main.id}`,
        icon: 'tools',
        label: main.name,
        keywords: '',
        tool: main,
        action: { path: toolPath(main) },
      })),
    },
  ];
  const items = groups.flatMap((group) => group.items);
  const selected = items[Math.min(active, items.length - 1)];
  const run = ({ action }: CommandItem) => {
    if ('theme' in action) setColorScheme(isDark ? 'light' : 'dark');
    if ('language' in action) setLanguage(action.language);
    if ('path' in action) navigate(action.path);
    onDone('path' in action);
  };
  // Enter may be pressed before the tools arrive. It then runs the first match.
  const [isSubmitted, setSubmitted] = useState(false);
  const runLatest = useRef(run);
  runLatest.current = run;
  useEffect(() => {
    if (!isSubmitted || !isSettled) return;
    setSubmitted(false);
    if (selected) runLatest.current(selected);
  }, [isSubmitted, isSettled, selected]);
  const handleKey = (event: KeyboardEvent) => {
    const last = items.length - 1;
    const target = { ArrowDown: active >= last ? 0 : active + 1, ArrowUp: active <= 0 ? last : active - 1 }[event.key];
    if (target !== undefined) {
      event.preventDefault();
      setActive(target);
    } else if (event.key === 'Enter' && !event.nativeEvent.isComposing) {
      event.preventDefault();
      setSubmitted(true);
    }
  };
  return (
    <>
      <TextInput
        data-autofocus
        ref={focus}
        role="combobox"
        aria-expanded={items.length > 0}
        aria-controls={`${id}-list`}
        aria-autocomplete="list"
        aria-activedescendant={selected ? `${id}-${selected.id}` : undefined}
        aria-label={messages.commands.search}
        placeholder={messages.commands.search}
        leftSection={<Icon name="search" size={16} />}
        value={text}
        onChange={(event) => {
          setText(event.currentTarget.value);
          setActive(0);
        }}
        onKeyDown={handleKey}
      />
      <CommandOptions id={id} groups={groups} selected={selected} onRun={run} />
      <p className={css.hint} role="status">
        {items.length === 0 && isSettled ? messages.commands.noResults : messages.commands.keys}
      </p>
    </>
  );
}
