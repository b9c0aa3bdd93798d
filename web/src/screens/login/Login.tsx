import { Button, PasswordInput } from '@mantine/core';
import { type FormEvent, useState } from 'react';
import { accountLoginUrl, useAccountLogin, useLogIn, useRejectedLink } from '~/api/login';
import { errorMessage, Problem } from '~/api/problem';
import { WORKSPACE } from '~/api/workspace';
import { Card } from '~/components/Card';
import { InlineMarkdown } from '~/components/InlineMarkdown';
import { Notice } from '~/components/Notice';
import { useMessages } from '~/i18n';
import type { Messages } from '~/i18n/en';
import { EntryPage } from '~/layout/EntryPage';
import { OtherWorkspaces } from './OtherWorkspaces';

export function Login() {
  const messages = useMessages();
  const logIn = useLogIn();
  const withAccount = useAccountLogin();
  const isLinkRejected = useRejectedLink();
  const [token, setToken] = useState('');
  const submit = (event: FormEvent) => {
    event.preventDefault();
    logIn.mutate(token.trim());
  };
  return (
    <EntryPage title={messages.login.title} lead={messages.login.lead}>
      {withAccount && (
        <Button component="a" href={accountLoginUrl()} fullWidth mb="md">
          {messages.login.withAccount}
        </Button>
      )}
      {isLinkRejected && (
        <Notice tone="warning">
          <InlineMarkdown text={messages.login.linkRejected} />
        </Notice>
      )}
      <OtherWorkspaces />
      <Card>
        <form onSubmit={submit}>
          <PasswordInput
            label={WORKSPACE ? messages.login.key : messages.login.token}
            description={<InlineMarkdown text={WORKSPACE ? messages.login.keyHint : messages.login.tokenHint} />}
            value={token}
            onChange={(event) => setToken(event.currentTarget.value)}
            error={logIn.error ? <InlineMarkdown text={describeError(logIn.error, messages)} /> : undefined}
            autoComplete="current-password"
            autoFocus
            required
          />
          <Button
            type="submit"
            fullWidth
            mt="md"
            variant={withAccount ? 'default' : 'filled'}
            loading={logIn.isPending}
          >
            {messages.login.submit}
          </Button>
        </form>
      </Card>
    </EntryPage>
  );
}

function describeError(error: unknown, messages: Messages): string {
  const status = error instanceof Problem ? error.status : undefined;
  if (status === 0) return messages.errors.unreachable;
  if (status === 401) return messages.login.invalidToken;
  return errorMessage(error);
}
