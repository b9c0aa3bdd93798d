// The `+` palette: every tool by its slug, found by typing, taken with Enter.
import { Modal, Switch, TextInput } from '@mantine/core';
import { useDebouncedValue } from '@mantine/hooks';
import { type KeyboardEvent, useEffect, useMemo, useRef, useState } from 'react';
import { flat, type Tool, useSearch, useSwitchTool, useTools } from '~/api/tools';
import { useWords } from '~/i18n';
import { Icon } from '~/parts/Icon';
import { tellFailure } from '~/parts/notify';
import { Failed, Loading } from '~/parts/parts';
import { type Grouped, groupVersions, switched } from '~/screens/tools/rows';
import css from './palette.module.css';

interface Props {
  opened: boolean;
  onClose: () => void;
  onPick: (tool: Tool) => void;
  /** A second `+` was typed: it is one of the message. */
  onPlus: () => void;
}

/** As many as can be looked through; typing finds the rest. */
const MOST_SHOWN = 60;

export function Palette({ opened, onClose, onPick, onPlus }: Props) {
  const words = useWords();
  return (
    <Modal opened={opened} onClose={onClose} title={words.palette.title} size="lg" centered={false} closeButtonProps={{ 'aria-label': words.common.close }}>
      <Choices onPick={onPick} onPlus={onPlus} />
    </Modal>
  );
}

function Choices({ onPick, onPlus }: Pick<Props, 'onPick' | 'onPlus'>) {
  const words = useWords();
  const [text, setText] = useState('');
  const typed = text.trim().replace(/^\++/, '');
  const [q] = useDebouncedValue(typed, 100);
  const [showOff, setShowOff] = useState(false);
  const every = useTools(showOff, q === '');
  const fitting = useSearch(q, showOff);
  const asked = q === '' ? every : fitting;
  const tools = useMemo(() => groupVersions(flat(asked.data)).slice(0, MOST_SHOWN), [asked.data]);
  const list = useRef<HTMLUListElement>(null);
  const input = useRef<HTMLInputElement>(null);
  const first = tools.find(({ main }) => main.isEnabled)?.main;
  // Enter may come before the answer does: then it holds for what the answer brings.
  const [isTaken, setTaken] = useState(false);
  const isSettled = q === typed && !asked.isFetching;
  useEffect(() => {
    if (!isTaken || !isSettled) return;
    setTaken(false);
    if (first) onPick(first);
  }, [isTaken, isSettled, first, onPick]);
  const move = (event: KeyboardEvent) => {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (!step) return;
    event.preventDefault();
    const rows = [...(list.current?.querySelectorAll<HTMLButtonElement>('[data-choice]') ?? [])];
    const at = rows.findIndex((row) => row.closest('li')?.contains(document.activeElement)) + step;
    (at < 0 ? input.current : (rows[at] ?? rows.at(-1)))?.focus();
  };
  const take = (event: KeyboardEvent) => {
    if (event.key === '+' && text === '') {
      event.preventDefault();
      onPlus();
    }
    if (event.key !== 'Enter' || event.nativeEvent.isComposing) return;
    event.preventDefault();
    setTaken(true);
  };
  return (
    <div onKeyDown={move}>
      <TextInput ref={input} data-autofocus aria-label={words.palette.search} placeholder={words.palette.search} leftSection={<Icon name="search" size={16} />} value={text} onChange={(event) => setText(event.currentTarget.value)} onKeyDown={take} />
      <div className={css.bar}>
        <span className={`${css.hint} ${css.keys}`}>{words.palette.hint}</span>
        <Switch size="xs" label={words.palette.showOff} checked={showOff} onChange={(event) => setShowOff(event.currentTarget.checked)} />
      </div>
      {asked.error ? <Failed error={asked.error} /> : null}
      {asked.isLoading && <Loading />}
      {asked.data && tools.length === 0 && <p className={css.hint}>{words.palette.none}</p>}
      <ul ref={list} className={css.list} aria-label={words.palette.title}>
        {tools.map((grouped) => (
          <Choice key={`${grouped.main.bundleID}/${grouped.main.slug}`} grouped={grouped} onPick={onPick} />
        ))}
      </ul>
    </div>
  );
}

function Choice({ grouped, onPick }: { grouped: Grouped; onPick: (tool: Tool) => void }) {
  const words = useWords();
  const tool = grouped.main;
  const switching = useSwitchTool();
  return (
    <li className={css.row} data-off={!tool.isEnabled || undefined}>
      <button type="button" className={css.choice} data-choice aria-disabled={!tool.isEnabled} onClick={() => tool.isEnabled && onPick(tool)}>
        <span className={css.slug}>+{tool.slug}</span>
        <span className={css.bundle}>{tool.bundleSlug}</span>
        <span className={css.about}>{tool.isEnabled ? tool.description.split('\n')[0] : tool.disabledReason || words.palette.off}</span>
      </button>
      <Switch
        size="xs"
        aria-label={words.tools.switchTool(tool.name)}
        checked={tool.isEnabled}
        disabled={switching.isPending}
        onChange={(event) => switching.mutate({ versions: switched(grouped, event.currentTarget.checked), on: event.currentTarget.checked }, { onError: tellFailure })}
      />
    </li>
  );
}
