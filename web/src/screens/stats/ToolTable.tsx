import { Link } from 'wouter';
import type { Usage } from '~/api/system';
import { Card } from '~/components/Card';
import { TableHead } from '~/components/TableHead';
import { ToolName } from '~/components/ToolName';
import { useMessages } from '~/i18n';
import { toolActivityPath } from '~/screens/activity/filter';
import css from './stats.module.css';

interface Props {
  tools: Usage['tools'];
  formatNumber: (value: number) => string;
}

export function ToolTable({ tools, formatNumber }: Props) {
  const messages = useMessages();
  const rows = Object.entries(tools).sort(([, a], [, b]) => b.calls - a.calls);
  const maxCalls = rows[0]?.[1].calls ?? 1;
  const columns = [
    messages.stats.tool,
    messages.stats.calls,
    messages.stats.successRate,
    messages.stats.mean,
    messages.stats.max,
  ];
  return (
    <Card className={css.byTool}>
      <h2>{messages.stats.byTool}</h2>
      <section className={css.scroll} tabIndex={0} aria-label={messages.stats.byTool}>
        <table>
          <TableHead columns={columns} />
          <tbody>
            {rows.map(([name, tool]) => (
              <tr key={name}>
                <th scope="row">
                  <Link href={toolActivityPath(name)}>
                    <ToolName name={name} />
                  </Link>
                  <span className={css.share} style={{ width: `${(100 * tool.calls) / maxCalls}%` }} />
                </th>
                <td>{formatNumber(tool.calls)}</td>
                <td>{formatNumber(tool.successRate)} %</td>
                <td>{messages.common.duration(tool.meanMs)}</td>
                <td>{messages.common.duration(tool.maxMs)}</td>
              </tr>
            ))}
          </tbody>
        </table>
      </section>
    </Card>
  );
}
