// Who has the token may come in.
import { Button, PasswordInput } from '@mantine/core';
import { type FormEvent, useState } from 'react';
import { useLogIn } from '~/api/login';
import { messageOf, Problem } from '~/api/problem';
import { useWords } from '~/i18n';
import type { Messages } from '~/i18n/en';
import { Inline } from '~/parts/Markdown';
import { Card } from '~/parts/parts';
import { Colours, Languages } from '~/shell/Shell';
import css from './login.module.css';

export function Login() {
  const words = useWords();
  const logIn = useLogIn();
  const [token, setToken] = useState('');
  const submit = (event: FormEvent) => {
    event.preventDefault();
    logIn.mutate(token.trim());
  };
  return (
    <main className={css.page}>
      <div className={css.corner}>
        <Languages />
        <Colours />
      </div>
      <div className={css.box}>
        <img src="/favicon.svg" alt="" width="52" height="52" />
        <h1>{words.login.title}</h1>
        <p>{words.login.lead}</p>
        <Card className={css.card}>
          <form onSubmit={submit}>
            <PasswordInput
              label={words.login.token}
              description={<Inline text={words.login.hint} />}
              value={token}
              onChange={(event) => setToken(event.currentTarget.value)}
              error={logIn.error ? why(logIn.error, words) : undefined}
              autoComplete="current-password"
              autoFocus
              required
            />
            <Button type="submit" fullWidth mt="md" loading={logIn.isPending}>
              {words.login.enter}
            </Button>
          </form>
        </Card>
      </div>
    </main>
  );
}

function why(error: unknown, words: Messages): string {
  const status = error instanceof Problem ? error.status : -1;
  const known: Record<number, string> = { 0: words.common.unreachable, 401: words.login.wrong, 429: words.login.tooMany };
  return known[status] ?? messageOf(error);
}
