import { Button } from '@mantine/core';
import { useEffect, useRef, useState } from 'react';
import { useLogIn } from '~/api/servers';
import { ErrorNotice } from '~/components/ErrorNotice';
import { Icon } from '~/components/Icon';
import { Notice } from '~/components/Notice';
import { notify } from '~/components/notifications';
import { useMessages } from '~/i18n';

/** Logs in to a remote server: shows a link to its login page and waits for the redirect. */
export function ServerLogin({ name }: { name: string }) {
  const messages = useMessages();
  const [page, setPage] = useState<string>();
  const login = useLogIn(name, setPage);
  const request = useRef<AbortController>(null);
  useEffect(() => () => request.current?.abort(), []);
  const start = () => {
    request.current = new AbortController();
    setPage(undefined);
    login.mutate(request.current.signal, {
      onSuccess: () => notify(messages.servers.loggedIn(name)),
      onSettled: () => setPage(undefined),
    });
  };
  return (
    <>
      <div>
        <Button
          size="compact-sm"
          variant="default"
          loading={login.isPending && !page}
          leftSection={<Icon name="lock" size={15} />}
          onClick={start}
        >
          {messages.servers.logIn}
        </Button>
      </div>
      {login.isPending && page && /^https?:\/\//.test(page) && (
        <Notice
          action={
            <Button size="compact-sm" component="a" href={page} target="_blank" rel="noopener noreferrer">
              {messages.servers.openLogin}
            </Button>
          }
        >
          {messages.servers.loginHint}
        </Notice>
      )}
      {login.error ? <ErrorNotice error={login.error} /> : null}
    </>
  );
}
