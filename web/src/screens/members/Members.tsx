import { Button, Group } from '@mantine/core';
import { useDisclosure } from '@mantine/hooks';
import { useAccountLogin } from '~/api/login';
import { mayManage, useMe } from '~/api/members';
import { Icon } from '~/components/Icon';
import { Notice } from '~/components/Notice';
import { PageHeader } from '~/components/PageHeader';
import { QueryView } from '~/components/QueryView';
import { useMessages } from '~/i18n';
import { InvitationList } from './InvitationList';
import { InviteDialog } from './InviteDialog';
import { MemberDialog } from './MemberDialog';
import { MemberList } from './MemberList';

/** Who belongs to the workspace, and what they may do. */
export default function Members() {
  const messages = useMessages();
  const me = useMe();
  const withAccounts = useAccountLogin();
  const [isAdding, dialog] = useDisclosure(false);
  const [isInviting, inviting] = useDisclosure(false);
  return (
    <>
      <PageHeader title={messages.members.title} lead={messages.members.lead}>
        {mayManage(me.data) && (
          <Group gap="xs">
            <Button variant="default" onClick={dialog.open} leftSection={<Icon name="plus" size={16} />}>
              {messages.members.add}
            </Button>
            {withAccounts && (
              <Button onClick={inviting.open} leftSection={<Icon name="plus" size={16} />}>
                {messages.invitations.invite}
              </Button>
            )}
          </Group>
        )}
      </PageHeader>
      <QueryView query={me}>
        {(user) =>
          mayManage(user) ? (
            <>
              <InvitationList />
              <MemberList me={user} />
            </>
          ) : (
            <Notice>{messages.members.ownersOnly}</Notice>
          )
        }
      </QueryView>
      {isAdding && <MemberDialog onClose={dialog.close} />}
      {isInviting && <InviteDialog onClose={inviting.close} />}
    </>
  );
}
