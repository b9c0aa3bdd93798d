import type { RunResponse } from '~/api/run';
import { Tag } from '~/components/Tag';
import { ToolName } from '~/components/ToolName';
import { useMessages } from '~/i18n';
import css from './playground.module.css';

export function NestedCalls({ calls }: { calls: RunResponse['calls'] }) {
  const messages = useMessages();
  if (calls.length === 0) return <p className={css.muted}>{messages.playground.noCalls}</p>;
  return (
    <ol className={css.calls}>
      {calls.map((call, index) => (
        <li key={index}>
          <ToolName name={call.name} />
          <Tag tone={call.ok ? 'success' : 'danger'}>{messages.common.duration(call.durationMs)}</Tag>
        </li>
      ))}
    </ol>
  );
}
