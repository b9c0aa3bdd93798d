import { Button, Drawer } from '@mantine/core';
import { useDisclosure } from '@mantine/hooks';
import { useCallback } from 'react';
import { useLocation, useParams } from 'wouter';
import { decodeSegment } from '~/api/url';
import { ErrorNotice } from '~/components/ErrorNotice';
import { Loading } from '~/components/Loading';
import { useMessages } from '~/i18n';
import { Composer } from './Composer';
import css from './chat.module.css';
import { SessionList } from './SessionList';
import { Thread } from './Thread';
import { useChat } from './useChat';

export default function Chat() {
  const messages = useMessages();
  const params = useParams<{ session?: string }>();
  const session = params.session === undefined ? undefined : decodeSegment(params.session);
  const [, navigate] = useLocation();
  const [isDrawerOpen, drawer] = useDisclosure(false);
  const showSession = useCallback(
    (id: string) => navigate(`/chat/${encodeURIComponent(id)}`, { replace: true }),
    [navigate],
  );
  const chat = useChat(session, showSession);
  return (
    <div className={css.page}>
      <aside className={css.sidebar} aria-label={messages.chat.sessions}>
        <SessionList current={session} onNew={chat.clear} />
      </aside>
      <section className={css.conversation}>
        <div className={css.titleBar}>
          <h1>{messages.chat.title}</h1>
          <Button size="compact-sm" variant="default" className={css.drawerButton} onClick={drawer.open}>
            {messages.chat.sessions}
          </Button>
        </div>
        {chat.error ? <ErrorNotice error={chat.error} /> : null}
        {chat.isLoading && <Loading />}
        <Thread entries={chat.entries} isBusy={chat.isBusy} onAnswered={chat.resolve} />
        <Composer isBusy={chat.isBusy} isReady={!chat.isLoading} onSend={chat.send} onStop={chat.stop} />
      </section>
      <Drawer
        opened={isDrawerOpen}
        onClose={drawer.close}
        title={messages.chat.sessions}
        closeButtonProps={{ 'aria-label': messages.common.close }}
      >
        <SessionList current={session} onSelect={drawer.close} onNew={chat.clear} />
      </Drawer>
    </div>
  );
}
