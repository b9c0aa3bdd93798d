import { Button } from '@mantine/core';
import { useState } from 'react';
import { mayMake, useMe } from '~/api/members';
import { type SecretOwner, useSecrets } from '~/api/secrets';
import { Icon } from '~/components/Icon';
import { PageHeader } from '~/components/PageHeader';
import { QueryView } from '~/components/QueryView';
import { useMessages } from '~/i18n';
import { SecretDialog, type SecretDraft } from './SecretDialog';
import { SecretSection } from './SecretSection';

const OWNERS: SecretOwner[] = ['me', 'workspace'];

/** The user's own secrets and those of the workspace. Their values cannot be read. */
export default function Secrets() {
  const messages = useMessages();
  const secrets = useSecrets();
  const isMaker = mayMake(useMe().data);
  const [draft, setDraft] = useState<SecretDraft | null>(null);
  return (
    <>
      <PageHeader title={messages.secrets.title} lead={messages.secrets.lead}>
        <Button onClick={() => setDraft({ of: 'me' })} leftSection={<Icon name="plus" size={16} />}>
          {messages.secrets.add}
        </Button>
      </PageHeader>
      <QueryView query={secrets}>
        {(all) =>
          OWNERS.map((of) => (
            <SecretSection key={of} of={of} all={all} mayChange={of === 'me' || isMaker} onEdit={setDraft} />
          ))
        }
      </QueryView>
      {draft && (
        <SecretDialog
          draft={draft}
          taken={secrets.data ?? []}
          owners={isMaker ? OWNERS : ['me']}
          onClose={() => setDraft(null)}
        />
      )}
    </>
  );
}
