import { SegmentedControl } from '@mantine/core';
import { useState } from 'react';
import { stringify } from '~/api/json';
import { CodeBlock } from '~/components/CodeBlock';
import { CopyButton } from '~/components/CopyButton';
import { useMessages } from '~/i18n';
import css from './tester.module.css';
import { ValueTable } from './ValueTable';

type View = 'table' | 'json' | 'text';
const MAX_TEXT_LENGTH = 100_000;

/** A value as a table, JSON or text. The first view is the most readable one. */
export function ValueView({ value }: { value: unknown }) {
  const messages = useMessages();
  const rows = toRows(value);
  const views = viewsFor(value, rows);
  const [selected, setSelected] = useState<View | null>(null);
  const view = selected && views.includes(selected) ? selected : views[0];
  const text = typeof value === 'string' && view === 'text' ? value : stringify(value);
  return (
    <>
      <div className={css.row}>
        {views.length > 1 && (
          <SegmentedControl
            size="xs"
            aria-label={messages.tester.view.label}
            value={view}
            data={views.map((option) => ({ value: option, label: messages.tester.view[option] }))}
            onChange={(option) => setSelected(option as View)}
          />
        )}
        <span className={css.spacer} />
        <CopyButton text={text} />
      </div>
      {view === 'table' && rows ? (
        <ValueTable rows={rows} />
      ) : (
        <CodeBlock label={messages.tester.result}>{text.slice(0, MAX_TEXT_LENGTH)}</CodeBlock>
      )}
      {view !== 'table' && text.length > MAX_TEXT_LENGTH && (
        <p className={css.muted}>{messages.tester.truncatedText}</p>
      )}
    </>
  );
}

type Rows = Record<string, unknown>[];

function viewsFor(value: unknown, rows: Rows | null): View[] {
  if (rows) return ['table', 'json'];
  return typeof value === 'string' ? ['text', 'json'] : ['json'];
}

/** Return the rows of a non-empty list of objects, or null for other values. */
function toRows(value: unknown): Rows | null {
  const isRow = (item: unknown) => typeof item === 'object' && item !== null && !Array.isArray(item);
  return Array.isArray(value) && value.length > 0 && value.every(isRow) ? (value as Rows) : null;
}
