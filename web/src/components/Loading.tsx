import { Loader } from '@mantine/core';
import { useMessages } from '~/i18n';
import css from './components.module.css';

export function Loading() {
  const messages = useMessages();
  return (
    <div className={css.loading} role="status">
      <Loader size="sm" /> {messages.common.loading}
    </div>
  );
}
