import { Link } from 'wouter';
import type { CallResult } from '~/api/calls';
import { Notice } from '~/components/Notice';
import { useMessages } from '~/i18n';
import { loginPath } from './loginPath';
import css from './tester.module.css';

export function CallError({ result }: { result: CallResult }) {
  const messages = useMessages();
  const { error } = result;
  const title = messages.tester.errorCode[error?.code ?? ''];
  const path = loginPath(result);
  return (
    <Notice tone="danger" action={path && <Link href={path}>{messages.tester.logIn}</Link>}>
      {title && <strong>{title}. </strong>}
      <span className={css.message}>{error?.message}</span>
    </Notice>
  );
}
