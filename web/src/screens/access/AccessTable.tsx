import type { ToolDecisions } from '~/api/access';
import { TableHead } from '~/components/TableHead';
import { useMessages } from '~/i18n';
import { AccessRow } from './AccessRow';
import css from './access.module.css';
import { callerLabel } from './callerLabel';

/** One row for each tool, one column for each kind of caller. */
export function AccessTable({ tools }: { tools: ToolDecisions[] }) {
  const messages = useMessages();
  const columns = tools[0]?.decisions ?? [];
  const labels = columns.map((column) => callerLabel(messages, column));
  return (
    <section className={css.scroll} tabIndex={0} aria-label={messages.access.title}>
      <table className={css.table}>
        <TableHead columns={[messages.access.tool, messages.access.kind, ...labels]} />
        <tbody>
          {tools.map((tool) => (
            <AccessRow key={tool.name} tool={tool} columns={columns} />
          ))}
        </tbody>
      </table>
    </section>
  );
}
