import { Button } from '@mantine/core';
import { Link } from 'wouter';
import { useSessions } from '~/api/chat';
import { Icon } from '~/components/Icon';
import { QueryView } from '~/components/QueryView';
import { useMessages } from '~/i18n';
import css from './chat.module.css';
import { SessionItem } from './SessionItem';

interface Props {
  current: string | undefined;
  onSelect?: () => void;
  onNew: () => void;
}

export function SessionList({ current, onSelect, onNew }: Props) {
  const messages = useMessages();
  const query = useSessions();
  const startNew = () => {
    onNew();
    onSelect?.();
  };
  return (
    <div className={css.sessions}>
      <Button
        component={Link}
        href="/chat"
        variant="default"
        leftSection={<Icon name="plus" size={15} />}
        onClick={startNew}
      >
        {messages.chat.newChat}
      </Button>
      <QueryView query={query}>
        {({ pages }) => {
          const sessions = pages.flatMap((page) => page.sessions);
          return (
            <>
              {sessions.length === 0 && <p className={css.muted}>{messages.chat.noSessions}</p>}
              <ul className={css.sessionList} aria-label={messages.chat.sessions}>
                {sessions.map((session) => (
                  <SessionItem
                    key={session.id}
                    session={session}
                    isCurrent={session.id === current}
                    onSelect={onSelect}
                  />
                ))}
              </ul>
              {query.hasNextPage && (
                <Button size="compact-sm" variant="subtle" onClick={() => void query.fetchNextPage()}>
                  {messages.chat.loadOlder}
                </Button>
              )}
            </>
          );
        }}
      </QueryView>
    </div>
  );
}
