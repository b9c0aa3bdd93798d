import { useEffect } from 'react';
import { useMessages } from '~/i18n';
import css from './tools.module.css';

/** The row after the last loaded tool. It loads the next page when it becomes visible. */
export function LoadMoreRow({ loadMore }: { loadMore: () => void }) {
  const messages = useMessages();
  useEffect(loadMore, [loadMore]);
  return <div className={css.message}>{messages.tools.loadingMore}</div>;
}
