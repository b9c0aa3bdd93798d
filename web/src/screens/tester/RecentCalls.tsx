import type { Tool } from '~/api/tools';
import { Tag } from '~/components/Tag';
import type { Tone } from '~/components/tone';
import { useLanguage } from '~/i18n';
import { EarlierCalls } from './EarlierCalls';
import { RequestRow } from './RequestRow';
import css from './tester.module.css';
import type { Args, CompletedCall } from './useCall';

interface Props {
  tool: Tool;
  /** The calls since the page was loaded, with their results. */
  calls: CompletedCall[];
  onShow: (call: CompletedCall) => void;
  onSelect: (args: Args) => void;
  onRun: (args: Args) => void;
}

export function RecentCalls({ tool, calls, onShow, onSelect, onRun }: Props) {
  const { locale, messages } = useLanguage();
  const ids = new Set(calls.flatMap(({ result }) => result?.meta.callId ?? []));
  return (
    <section className={css.section}>
      <h3>{messages.tester.recentCalls}</h3>
      {calls.length === 0 && <p className={css.muted}>{messages.requests.historyHint}</p>}
      {calls.map((call) => (
        <RequestRow
          key={call.id}
          label={call.at.toLocaleTimeString(locale)}
          onSelect={() => onShow(call)}
          onRun={() => onRun(call.args)}
        >
          <Tag tone={toneOf(call)}>{messages.common.duration(call.ms)}</Tag>
          <code>{JSON.stringify(call.args)}</code>
          <span className={css.muted}>{call.at.toLocaleTimeString(locale)}</span>
        </RequestRow>
      ))}
      <EarlierCalls tool={tool} exclude={ids} onSelect={onSelect} onRun={onRun} />
    </section>
  );
}

function toneOf({ result }: CompletedCall): Tone {
  if (result === null) return 'neutral';
  return result.ok ? 'success' : 'danger';
}
