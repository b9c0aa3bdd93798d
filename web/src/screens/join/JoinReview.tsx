import { Button } from '@mantine/core';
import type { Role } from '~/api/members';
import { type Session, useAcceptInvitation, useEndSession, useInvitation } from '~/api/session';
import { WORKSPACE } from '~/api/workspace';
import { Card } from '~/components/Card';
import { ErrorNotice } from '~/components/ErrorNotice';
import { Facts } from '~/components/Facts';
import { Notice } from '~/components/Notice';
import { notifyError } from '~/components/notifications';
import { QueryView } from '~/components/QueryView';
import { useMessages } from '~/i18n';
import css from './join.module.css';
import { forgetSecret } from './secret';
import { workspaceName } from './workspaceName';

interface Props {
  secret: string;
  session: Session;
}

/** Shows who is invited to what, and accepts the invitation. */
export function JoinReview({ secret, session: { person } }: Props) {
  const messages = useMessages();
  const texts = messages.join;
  const acceptance = useAcceptInvitation();
  const invitation = useInvitation(secret, !acceptance.isSuccess);
  const leaving = useEndSession();
  const roleOf = (role: string) => messages.members.roles[role as Role] ?? role;
  if (acceptance.data) {
    return (
      <Card className={css.card}>
        <Notice tone="success">{texts.accepted(workspaceName(), roleOf(acceptance.data.role))}</Notice>
        <Button component="a" href={`${WORKSPACE}/`} fullWidth>
          {texts.open}
        </Button>
      </Card>
    );
  }
  const accept = () => acceptance.mutate(secret, { onSuccess: forgetSecret });
  return (
    <Card className={css.card}>
      <QueryView query={invitation}>
        {({ workspace, role }) => (
          <>
            <Facts
              facts={[
                [texts.workspace, workspace],
                [messages.members.role, `${roleOf(role)}: ${messages.members.roleHints[role as Role] ?? ''}`],
              ]}
            />
            {acceptance.error ? <ErrorNotice error={acceptance.error} /> : null}
            <Button fullWidth loading={acceptance.isPending} onClick={accept}>
              {texts.accept}
            </Button>
          </>
        )}
      </QueryView>
      <p className={css.person}>
        {texts.loggedInAs} <strong>{person.name || person.email || person.id}</strong>
        {person.name && person.email && <span> ({person.email})</span>}
      </p>
      <Button
        variant="default"
        fullWidth
        loading={leaving.isPending}
        onClick={() => leaving.mutate(undefined, { onError: notifyError })}
      >
        {texts.otherAccount}
      </Button>
    </Card>
  );
}
