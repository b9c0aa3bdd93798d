import { Button } from '@mantine/core';
import { useQueryClient } from '@tanstack/react-query';
import { useCallback, useEffect, useRef } from 'react';
import { send } from '~/api/client';
import { nextDelay, reportBack, useIsServerAway } from '~/api/connection';
import { Icon } from '~/components/Icon';
import { InlineMarkdown } from '~/components/InlineMarkdown';
import { useMessages } from '~/i18n';
import css from './layout.module.css';

/** Says that the server is away, tries to reach it again, and reloads what is shown once it is back. */
export function ServerBanner() {
  const messages = useMessages();
  const queries = useQueryClient();
  const isAway = useIsServerAway();
  const timer = useRef<ReturnType<typeof setTimeout>>(undefined);
  const reach = useCallback(async () => {
    clearTimeout(timer.current);
    try {
      await send('/login');
      reportBack();
      await queries.invalidateQueries();
    } catch {
      clearTimeout(timer.current);
      timer.current = setTimeout(() => void reach(), nextDelay());
    }
  }, [queries]);
  useEffect(() => {
    if (!isAway) return;
    timer.current = setTimeout(() => void reach(), nextDelay());
    const reachNow = () => void reach();
    addEventListener('online', reachNow);
    return () => {
      clearTimeout(timer.current);
      removeEventListener('online', reachNow);
    };
  }, [isAway, reach]);
  return (
    <div aria-live="polite" className={css.serverStatus}>
      {isAway && (
        <div className={css.serverBanner}>
          <Icon name="alert" />
          <span>
            <InlineMarkdown text={messages.errors.unreachable} /> {messages.connection.hint}
          </span>
          <Button size="compact-sm" variant="default" onClick={() => void reach()}>
            {messages.common.retry}
          </Button>
        </div>
      )}
    </div>
  );
}
