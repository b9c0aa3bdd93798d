import { Progress as ProgressBar } from '@mantine/core';
import type { Progress } from '~/api/calls';
import { useMessages } from '~/i18n';
import css from './tester.module.css';

export function CallProgress({ progress }: { progress: Progress | null }) {
  const messages = useMessages();
  const percent = progress?.total ? (100 * progress.done) / progress.total : 100;
  return (
    <div className={css.running} role="status">
      <ProgressBar value={percent} animated={!progress?.total} aria-label={messages.tester.progress} />
      <span className={css.muted}>{String(progress?.message || messages.tester.running)}</span>
    </div>
  );
}
