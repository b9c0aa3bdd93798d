// The conversations that are kept: go on with one, rename it, delete it.
import { ActionIcon, Button, Group, Menu, Modal, TextInput } from '@mantine/core';
import { useDisclosure } from '@mantine/hooks';
import { type FormEvent, useState } from 'react';
import { Link, useLocation } from 'wouter';
import { type SessionHead, useForget, useRename, useSessions } from '~/api/chat';
import { useLanguage, useWords } from '~/i18n';
import { Confirm } from '~/parts/Confirm';
import { Icon } from '~/parts/Icon';
import { Failed, Shown } from '~/parts/parts';
import css from './chat.module.css';

export function Sessions({ current, onPick, onNew }: { current: string | undefined; onPick?: () => void; onNew: () => void }) {
  const words = useWords();
  const anew = () => {
    onNew();
    onPick?.();
  };
  const asked = useSessions();
  return (
    <div className={css.sessions}>
      <Button component={Link} href="/chat" variant="default" leftSection={<Icon name="plus" size={15} />} onClick={anew}>
        {words.chat.new}
      </Button>
      <Shown asked={asked}>
        {({ pages }) => {
          const heads = pages.flatMap((page) => page.sessions);
          return (
            <>
              {heads.length === 0 && <p className={css.soft}>{words.chat.noSessions}</p>}
              <ul className={css.sessionList} aria-label={words.chat.sessions}>
                {heads.map((head) => (
                  <Session key={head.id} head={head} isCurrent={head.id === current} onPick={onPick} />
                ))}
              </ul>
              {asked.hasNextPage && (
                <Button size="compact-sm" variant="subtle" onClick={() => void asked.fetchNextPage()}>
                  {words.chat.more}
                </Button>
              )}
            </>
          );
        }}
      </Shown>
    </div>
  );
}

function Session({ head, isCurrent, onPick }: { head: SessionHead; isCurrent: boolean; onPick?: () => void }) {
  const words = useWords();
  const { locale } = useLanguage();
  const title = head.title || words.chat.untitled;
  return (
    <li className={css.session} data-current={isCurrent || undefined}>
      <Link href={`/chat/${encodeURIComponent(head.id)}`} aria-current={isCurrent ? 'true' : undefined} onClick={onPick}>
        <span className={css.sessionTitle}>{title}</span>
        <span className={css.soft}>{new Date(head.at * 1000).toLocaleDateString(locale, { day: 'numeric', month: 'short' })}</span>
      </Link>
      <Actions id={head.id} title={title} isCurrent={isCurrent} />
    </li>
  );
}

function Actions({ id, title, isCurrent }: { id: string; title: string; isCurrent: boolean }) {
  const words = useWords();
  const [, go] = useLocation();
  const forgetting = useForget();
  const [isNaming, naming] = useDisclosure(false);
  const [asks, ask] = useDisclosure(false);
  const decline = () => {
    ask.close();
    forgetting.reset();
  };
  const gone = () => {
    ask.close();
    if (isCurrent) go('/chat');
  };
  return (
    <>
      <Menu position="bottom-end">
        <Menu.Target>
          <ActionIcon variant="subtle" color="gray" size="sm" aria-label={words.chat.actions(title)}>
            <Icon name="dots" size={16} />
          </ActionIcon>
        </Menu.Target>
        <Menu.Dropdown>
          <Menu.Item leftSection={<Icon name="edit" size={15} />} onClick={naming.open}>
            {words.chat.rename}
          </Menu.Item>
          <Menu.Item color="red" leftSection={<Icon name="trash" size={15} />} onClick={ask.open}>
            {words.common.delete}
          </Menu.Item>
        </Menu.Dropdown>
      </Menu>
      <Modal opened={isNaming} onClose={naming.close} title={words.chat.renameTitle} closeButtonProps={{ 'aria-label': words.common.close }}>
        <Rename id={id} title={title} onDone={naming.close} />
      </Modal>
      <Confirm opened={asks} title={words.chat.deleteTitle(title)} text={words.chat.deleteText} busy={forgetting.isPending} error={forgetting.error} onConfirm={() => void forgetting.mutateAsync(id).then(gone, () => {})} onClose={decline} />
    </>
  );
}

function Rename({ id, title, onDone }: { id: string; title: string; onDone: () => void }) {
  const words = useWords();
  const renaming = useRename();
  const [name, setName] = useState(title);
  const submit = (event: FormEvent) => {
    event.preventDefault();
    renaming.mutate({ id, title: name.trim() }, { onSuccess: onDone });
  };
  return (
    <form onSubmit={submit}>
      <TextInput label={words.common.name} value={name} maxLength={1000} required data-autofocus onChange={(event) => setName(event.currentTarget.value)} />
      {renaming.error ? <Failed error={renaming.error} /> : null}
      <Group justify="flex-end" mt="md">
        <Button type="submit" loading={renaming.isPending}>
          {words.common.save}
        </Button>
      </Group>
    </form>
  );
}
