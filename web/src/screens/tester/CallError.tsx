import type { CallResult } from '~/api/calls';
import { Notice } from '~/components/Notice';
import { useMessages } from '~/i18n';
import css from './tester.module.css';

export function CallError({ error }: { error: CallResult['error'] }) {
  const messages = useMessages();
  const title = messages.tester.errorCode[error?.code ?? ''];
  return (
    <Notice tone="danger">
      {title && <strong>{title}. </strong>}
      <span className={css.message}>{error?.message}</span>
    </Notice>
  );
}
