// The chat: answers as they come, with every call that was made for them.
import { Button, Drawer, Loader } from '@mantine/core';
import { useDisclosure } from '@mantine/hooks';
import { useCallback, useEffect, useRef } from 'react';
import { useLocation, useParams } from 'wouter';
import { decoded } from '~/api/address';
import type { Decision } from '~/api/chat';
import { useWords } from '~/i18n';
import { Icon } from '~/parts/Icon';
import { Markdown } from '~/parts/Markdown';
import { Failed, Loading, Note } from '~/parts/parts';
import { CallChip } from './CallChip';
import css from './chat.module.css';
import { Composer } from './Composer';
import { Sessions } from './Sessions';
import type { Entry } from './thread';
import { useChat } from './useChat';

export default function Chat() {
  const words = useWords();
  const params = useParams<{ session?: string }>();
  const session = params.session === undefined ? undefined : decoded(params.session);
  const [, go] = useLocation();
  const [isListed, list] = useDisclosure(false);
  const named = useCallback((id: string) => go(`/chat/${encodeURIComponent(id)}`, { replace: true }), [go]);
  const chat = useChat(session, named);
  return (
    <div className={css.page}>
      <aside className={css.aside} aria-label={words.chat.sessions}>
        <Sessions current={session} onNew={chat.clear} />
      </aside>
      <section className={css.talk}>
        <div className={css.phoneBar}>
          <h1>{words.chat.title}</h1>
          <Button size="compact-sm" variant="default" className={css.listButton} onClick={list.open}>
            {words.chat.sessions}
          </Button>
        </div>
        {chat.error ? <Failed error={chat.error} /> : null}
        {chat.isLoading && <Loading />}
        <Thread entries={chat.entries} isBusy={chat.isBusy} onDecide={(id, decision) => void chat.answer(id, decision)} />
        <Composer isBusy={chat.isBusy} isReady={!chat.isLoading} onAsk={chat.ask} onStop={chat.stop} />
      </section>
      <Drawer opened={isListed} onClose={list.close} title={words.chat.sessions} closeButtonProps={{ 'aria-label': words.common.close }}>
        <Sessions current={session} onPick={list.close} onNew={chat.clear} />
      </Drawer>
    </div>
  );
}

interface ThreadProps {
  entries: Entry[];
  isBusy: boolean;
  onDecide: (approval: string, decision: Decision) => void;
}

function Thread({ entries, isBusy, onDecide }: ThreadProps) {
  const words = useWords();
  const end = useRef<HTMLDivElement>(null);
  useEffect(() => {
    end.current?.scrollIntoView({ block: 'nearest' });
  }, [entries]);
  const isWaiting = isBusy && entries.at(-1)?.kind !== 'assistant' && !entries.some((entry) => entry.kind === 'call' && entry.call.approval);
  if (entries.length === 0 && !isBusy) return <Hello />;
  return (
    <div className={css.thread} role="log" aria-label={words.chat.title} tabIndex={0}>
      {entries.map((entry, at) => (
        <One key={at} entry={entry} onDecide={onDecide} />
      ))}
      {isWaiting && (
        <p className={css.soft}>
          <Loader size="xs" /> {words.chat.thinking}
        </p>
      )}
      <div ref={end} />
    </div>
  );
}

function One({ entry, onDecide }: { entry: Entry; onDecide: ThreadProps['onDecide'] }) {
  const words = useWords();
  switch (entry.kind) {
    case 'user':
      return (
        <article className={css.user} aria-label={words.chat.you}>
          <Markdown text={entry.text} />
        </article>
      );
    case 'assistant':
      return (
        <article className={css.assistant} aria-label={words.chat.assistant}>
          <Markdown text={entry.text} />
        </article>
      );
    case 'call':
      return <CallChip call={entry.call} onDecide={onDecide} />;
    case 'failed':
      return <Note mood="bad">{entry.text}</Note>;
  }
}

function Hello() {
  const words = useWords();
  return (
    <div className={css.hello}>
      <Icon name="chat" size={34} />
      <h2>{words.chat.hello}</h2>
      <p>{words.chat.helloHint}</p>
    </div>
  );
}
