import type { CallResult } from '~/api/calls';
import { MediaParts } from '~/components/MediaParts';
import { Notice } from '~/components/Notice';
import { Tag } from '~/components/Tag';
import { useMessages } from '~/i18n';
import { CallError } from './CallError';
import css from './tester.module.css';
import { ValueView } from './ValueView';

/** The outcome of a call. The result is null if the user stopped the call. */
export function CallOutput({ result, ms }: { result: CallResult | null; ms: number }) {
  const messages = useMessages();
  if (result === null) return <Notice>{messages.tester.stopped}</Notice>;
  return (
    <div className={css.output}>
      <div className={css.row} role="status">
        <Tag tone={result.ok ? 'success' : 'danger'} icon={result.ok ? 'check' : 'alert'}>
          {result.ok ? messages.tester.succeeded : messages.tester.failed}
        </Tag>
        <span className={css.muted}>{messages.tester.duration(messages.common.duration(ms))}</span>
      </div>
      {result.ok ? <ValueView value={result.value} /> : <CallError result={result} />}
      <MediaParts parts={result.content ?? []} />
    </div>
  );
}
