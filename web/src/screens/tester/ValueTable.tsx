import { stringify } from '~/api/json';
import { TableHead } from '~/components/TableHead';
import { useMessages } from '~/i18n';
import css from './tester.module.css';

const MAX_ROWS = 200;
const MAX_COLUMNS = 30;
const MAX_CELL_LENGTH = 1000;

export function ValueTable({ rows }: { rows: Record<string, unknown>[] }) {
  const messages = useMessages();
  const shown = rows.slice(0, MAX_ROWS);
  const columns = [...new Set(shown.flatMap((row) => Object.keys(row)))].slice(0, MAX_COLUMNS);
  return (
    <section className={css.table} tabIndex={0} aria-label={messages.tester.result}>
      <table>
        <TableHead columns={columns} />
        <tbody>
          {shown.map((row, index) => (
            <tr key={index}>
              {columns.map((column) => (
                <td key={column}>{formatCell(row[column])}</td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
      {rows.length > shown.length && (
        <p className={css.muted}>{messages.tester.truncatedRows(shown.length, rows.length)}</p>
      )}
    </section>
  );
}

function formatCell(value: unknown): string {
  const text = value === undefined ? '' : typeof value === 'string' ? value : stringify(value);
  return text.length > MAX_CELL_LENGTH ? `${text.slice(0, MAX_CELL_LENGTH)}…` : text;
}
