import { Tag } from '~/components/Tag';
import type { Tone } from '~/components/tone';
import { useLanguage } from '~/i18n';
import css from './tester.module.css';
import type { CompletedCall } from './useCall';

interface Props {
  calls: CompletedCall[];
  onSelect: (call: CompletedCall) => void;
}

export function RecentCalls({ calls, onSelect }: Props) {
  const { locale, messages } = useLanguage();
  return (
    <section className={css.section}>
      <h3>{messages.tester.recentCalls}</h3>
      {calls.length === 0 && <p className={css.muted}>{messages.tester.noRecentCalls}</p>}
      {calls.map((call) => (
        <button
          key={call.id}
          type="button"
          className={css.recentCall}
          title={messages.tester.reuseArgs}
          onClick={() => onSelect(call)}
        >
          <Tag tone={toneOf(call)}>{messages.common.duration(call.ms)}</Tag>
          <code>{JSON.stringify(call.args)}</code>
          <span className={css.muted}>{call.at.toLocaleTimeString(locale)}</span>
        </button>
      ))}
    </section>
  );
}

function toneOf({ result }: CompletedCall): Tone {
  if (result === null) return 'neutral';
  return result.ok ? 'success' : 'danger';
}
