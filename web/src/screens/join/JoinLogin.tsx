import { Button } from '@mantine/core';
import { accountLoginUrl } from '~/api/login';
import { Card } from '~/components/Card';
import { useMessages } from '~/i18n';

/** Asks the person to log in first. The provider leads back to the page. */
export function JoinLogin() {
  const messages = useMessages();
  return (
    <Card>
      <p>{messages.join.logInFirst}</p>
      <Button component="a" href={accountLoginUrl()} fullWidth>
        {messages.login.withAccount}
      </Button>
    </Card>
  );
}
