// What came of a call, in the form that suits it.
import { SegmentedControl } from '@mantine/core';
import { useState } from 'react';
import type { CallAnswer } from '~/api/calls';
import { written } from '~/api/json';
import { useWords } from '~/i18n';
import { Columns, Copy, Note, Pre, Tag } from '~/parts/parts';
import css from './tester.module.css';

type View = 'table' | 'json' | 'text';
const MOST_ROWS = 200;
const MOST_TEXT = 100_000;

export function Result({ answer, ms }: { answer: CallAnswer | null; ms: number }) {
  const words = useWords();
  if (answer === null) return <Note>{words.tester.cancelled}</Note>;
  return (
    <div className={css.result}>
      <div className={css.line} role="status">
        <Tag mood={answer.ok ? 'good' : 'bad'} icon={answer.ok ? 'check' : 'alert'}>
          {answer.ok ? words.tester.ok : words.tester.failed}
        </Tag>
        <span className={css.soft}>{words.tester.took(words.common.ms(ms))}</span>
      </div>
      {answer.ok ? <Value value={answer.value} /> : <CallFailed answer={answer} />}
    </div>
  );
}

function CallFailed({ answer }: { answer: CallAnswer }) {
  const words = useWords();
  const code = answer.error?.code ?? '';
  return (
    <Note mood="bad">
      {words.tester.code[code] && <strong>{words.tester.code[code]}. </strong>}
      <span className={css.message}>{answer.error?.message}</span>
    </Note>
  );
}

/** A value as a table, as JSON or as text; whichever is read most easily is shown first. */
export function Value({ value }: { value: unknown }) {
  const words = useWords();
  const table = rowsOf(value);
  const views: View[] = [...(table ? ['table' as const] : []), 'json', ...(typeof value === 'string' ? ['text' as const] : [])];
  const [chosen, setView] = useState<View | null>(null);
  const view = chosen && views.includes(chosen) ? chosen : typeof value === 'string' ? 'text' : views[0]!;
  const whole = typeof value === 'string' && view === 'text' ? value : written(value);
  return (
    <>
      <div className={css.line}>
        {views.length > 1 && (
          <SegmentedControl
            size="xs"
            aria-label={words.tester.view}
            value={view}
            data={views.map((one) => ({ value: one, label: words.tester[one] }))}
            onChange={(one) => setView(one as View)}
          />
        )}
        <span className={css.spring} />
        <Copy text={whole} />
      </div>
      {view === 'table' && table ? <Table rows={table} /> : <Pre label={words.tester.result}>{whole.slice(0, MOST_TEXT)}</Pre>}
      {view !== 'table' && whole.length > MOST_TEXT && <p className={css.soft}>{words.tester.shortened}</p>}
    </>
  );
}

function Table({ rows }: { rows: Record<string, unknown>[] }) {
  const words = useWords();
  const shown = rows.slice(0, MOST_ROWS);
  const columns = [...new Set(shown.flatMap((row) => Object.keys(row)))].slice(0, 30);
  return (
    <div className={css.tableBox} tabIndex={0} role="region" aria-label={words.tester.result}>
      <table>
        <Columns names={columns} />
        <tbody>
          {shown.map((row, at) => (
            <tr key={at}>
              {columns.map((name) => (
                <td key={name}>{cell(row[name])}</td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
      {rows.length > shown.length && <p className={css.soft}>{words.tester.rows(shown.length, rows.length)}</p>}
    </div>
  );
}

/** More of one cell nobody reads; the JSON has it all. */
const MOST_CELL = 1000;

function cell(value: unknown): string {
  const text = value === undefined ? '' : typeof value === 'string' ? value : written(value);
  return text.length > MOST_CELL ? `${text.slice(0, MOST_CELL)}…` : text;
}

/** The rows of what looks like a table: a list of objects. */
export function rowsOf(value: unknown): Record<string, unknown>[] | null {
  const isRow = (one: unknown) => typeof one === 'object' && one !== null && !Array.isArray(one);
  return Array.isArray(value) && value.length > 0 && value.every(isRow) ? (value as Record<string, unknown>[]) : null;
}
