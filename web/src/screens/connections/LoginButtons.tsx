import { Button } from '@mantine/core';
import { useDisclosure } from '@mantine/hooks';
import { type Connection, type LoginOwner, useLogIn, useLogOut } from '~/api/connections';
import { DeleteDialog } from '~/components/DeleteDialog';
import { ErrorNotice } from '~/components/ErrorNotice';
import { notify } from '~/components/notifications';
import { useMessages } from '~/i18n';

interface Props {
  connection: Connection;
  of: LoginOwner;
  mayChange: boolean;
}

/** Logs in to a server, and out after a confirmation: for the user, or for the workspace. */
export function LoginButtons({ connection, of, mayChange }: Props) {
  const texts = useMessages().connections;
  const { server } = connection;
  const owner = of ?? 'me';
  const isConnected = owner === 'me' ? connection.mine : connection.workspace;
  const login = useLogIn(server);
  const logout = useLogOut(server);
  const [isOpen, dialog] = useDisclosure(false);
  if (!mayChange) return null;
  const handleLoggedOut = () => {
    dialog.close();
    notify(texts.loggedOut(server));
  };
  const loginLabel = isConnected ? texts.logInAgain[owner] : texts.logIn[owner];
  return (
    <>
      <Button
        size="compact-sm"
        variant={isConnected ? 'default' : 'filled'}
        loading={login.isPending}
        aria-label={`${loginLabel} ${texts.logInLabel(server)}`}
        onClick={() => void login.mutateAsync(owner).catch(() => {})}
      >
        {loginLabel}
      </Button>
      {isConnected && (
        <Button
          size="compact-sm"
          variant="default"
          aria-label={`${texts.logOut[owner]}: ${server}`}
          onClick={dialog.open}
        >
          {texts.logOut[owner]}
        </Button>
      )}
      {login.error ? <ErrorNotice error={login.error} /> : null}
      <DeleteDialog
        opened={isOpen}
        title={texts.logOutTitle(server)}
        text={texts.logOutText[owner]}
        confirmLabel={texts.logOut[owner]}
        isDeleting={logout.isPending}
        error={logout.error}
        onConfirm={() => void logout.mutateAsync(owner).then(handleLoggedOut, () => {})}
        onClose={dialog.close}
      />
    </>
  );
}
