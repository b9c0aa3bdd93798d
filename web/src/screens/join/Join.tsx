import { useState } from 'react';
import { useLoginConfig } from '~/api/login';
import { useSession } from '~/api/session';
import { Notice } from '~/components/Notice';
import { QueryView } from '~/components/QueryView';
import { useMessages } from '~/i18n';
import { EntryPage } from '~/layout/EntryPage';
import { JoinLogin } from './JoinLogin';
import { JoinReview } from './JoinReview';
import { takeSecret } from './secret';
import { workspaceName } from './workspaceName';

/** Where the link of an invitation leads: the person logs in, sees the role, and accepts. */
export default function Join() {
  const texts = useMessages().join;
  const [secret] = useState(takeSecret);
  const config = useLoginConfig();
  const session = useSession();
  return (
    <EntryPage title={texts.title(workspaceName())} lead={texts.lead}>
      <QueryView query={config}>
        {({ withAccount }) => {
          if (!secret) return <Notice tone="warning">{texts.noSecret}</Notice>;
          if (!withAccount) return <Notice tone="warning">{texts.noAccounts}</Notice>;
          return (
            <QueryView query={session}>
              {(found) => (found ? <JoinReview secret={secret} session={found} /> : <JoinLogin />)}
            </QueryView>
          );
        }}
      </QueryView>
    </EntryPage>
  );
}
