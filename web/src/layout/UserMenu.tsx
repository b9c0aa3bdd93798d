import { ActionIcon, Tooltip } from '@mantine/core';
import { useLogOut } from '~/api/login';
import { Icon } from '~/components/Icon';
import { notifyError } from '~/components/notifications';
import { useMessages } from '~/i18n';
import { LanguageMenu } from './LanguageMenu';
import css from './layout.module.css';
import { ThemeToggle } from './ThemeToggle';

export function UserMenu() {
  const messages = useMessages();
  const logOut = useLogOut();
  return (
    <div className={css.userMenu}>
      <LanguageMenu />
      <ThemeToggle />
      <Tooltip label={messages.nav.logOut}>
        <ActionIcon
          variant="subtle"
          color="gray"
          size="lg"
          aria-label={messages.nav.logOut}
          onClick={() => logOut.mutate(undefined, { onError: notifyError })}
        >
          <Icon name="logOut" />
        </ActionIcon>
      </Tooltip>
    </div>
  );
}
