import { Button } from '@mantine/core';
import { useDisclosure } from '@mantine/hooks';
import { mayManage, useMe } from '~/api/members';
import { Icon } from '~/components/Icon';
import { Notice } from '~/components/Notice';
import { PageHeader } from '~/components/PageHeader';
import { QueryView } from '~/components/QueryView';
import { useMessages } from '~/i18n';
import { MemberDialog } from './MemberDialog';
import { MemberList } from './MemberList';

/** Who belongs to the workspace, and what they may do. */
export default function Members() {
  const messages = useMessages();
  const me = useMe();
  const [isAdding, dialog] = useDisclosure(false);
  return (
    <>
      <PageHeader title={messages.members.title} lead={messages.members.lead}>
        {mayManage(me.data) && (
          <Button onClick={dialog.open} leftSection={<Icon name="plus" size={16} />}>
            {messages.members.add}
          </Button>
        )}
      </PageHeader>
      <QueryView query={me}>
        {(user) => (mayManage(user) ? <MemberList me={user} /> : <Notice>{messages.members.ownersOnly}</Notice>)}
      </QueryView>
      {isAdding && <MemberDialog onClose={dialog.close} />}
    </>
  );
}
