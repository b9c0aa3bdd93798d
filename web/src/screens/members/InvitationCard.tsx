import { Button } from '@mantine/core';
import { type SentInvitation, useRevokeInvitation } from '~/api/invitations';
import { Card } from '~/components/Card';
import { Facts } from '~/components/Facts';
import { formatDay } from '~/components/formatDay';
import { notify, notifyError } from '~/components/notifications';
import { Tag } from '~/components/Tag';
import { useLanguage } from '~/i18n';
import css from './members.module.css';
import { PatternList } from './PatternList';

/** An open invitation, with a button that revokes it. Another can be created, so it does not ask first. */
export function InvitationCard({ invitation }: { invitation: SentInvitation }) {
  const { locale, messages } = useLanguage();
  const texts = messages.invitations;
  const revocation = useRevokeInvitation(invitation.id);
  const { role, patterns, createdAt, expiresAt } = invitation;
  const note = invitation.note || texts.noNote;
  const isExpired = Date.now() >= expiresAt * 1000;
  return (
    <li aria-label={note}>
      <Card>
        <div className={css.header}>
          <h3>{note}</h3>
          <Tag tone="accent">{messages.members.roles[role]}</Tag>
          {isExpired && <Tag tone="warning">{messages.keys.status.expired}</Tag>}
          <span className={css.spacer} />
          <Button
            size="compact-sm"
            variant="default"
            loading={revocation.isPending}
            aria-label={texts.revokeLabel(note)}
            onClick={() =>
              revocation.mutate(undefined, { onSuccess: () => notify(texts.revoked(note)), onError: notifyError })
            }
          >
            {messages.keys.revoke}
          </Button>
        </div>
        <Facts
          facts={[
            [messages.members.patterns, <PatternList key="patterns" patterns={patterns} />],
            [messages.keys.created, formatDay(createdAt, locale)],
            [messages.keys.expires, formatDay(expiresAt, locale)],
          ]}
        />
      </Card>
    </li>
  );
}
