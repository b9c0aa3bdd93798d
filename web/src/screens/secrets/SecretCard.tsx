import { Button } from '@mantine/core';
import type { ReactNode } from 'react';
import type { Secret } from '~/api/secrets';
import { Card } from '~/components/Card';
import { Facts } from '~/components/Facts';
import { Tag } from '~/components/Tag';
import { useMessages } from '~/i18n';
import cards from '~/screens/members/members.module.css';
import { DeleteSecret } from './DeleteSecret';
import { HostList } from './HostList';
import type { SecretDraft } from './SecretDialog';
import css from './secrets.module.css';

interface Props {
  secret: Secret;
  /** Whether the user's calls use a secret of their own in its place. */
  isReplaced: boolean;
  mayChange: boolean;
  onEdit: (draft: SecretDraft) => void;
}

export function SecretCard({ secret, isReplaced, mayChange, onEdit }: Props) {
  const messages = useMessages();
  const texts = messages.secrets;
  const { name, of, hosts, source } = secret;
  const facts: [string, ReactNode][] = [[texts.hosts, <HostList key="hosts" hosts={hosts} />]];
  if (source) facts.push([messages.configuration.source, messages.configuration.sources[source]]);
  return (
    <li aria-label={name}>
      <Card>
        <div className={cards.header}>
          <h3 className={css.name}>{name}</h3>
          {isReplaced && <Tag tone="accent">{texts.replaced}</Tag>}
          <span className={cards.spacer} />
          <div className={css.actions}>
            {of === 'workspace' && !isReplaced && (
              <Button
                size="compact-sm"
                variant="default"
                aria-label={texts.replaceByOwnLabel(name)}
                onClick={() => onEdit({ of: 'me', name, hosts })}
              >
                {texts.replaceByOwn}
              </Button>
            )}
            {mayChange && (
              <>
                <Button
                  size="compact-sm"
                  variant="default"
                  aria-label={texts.replaceLabel(name)}
                  onClick={() => onEdit({ of, name, hosts, isStored: true })}
                >
                  {texts.replace}
                </Button>
                <DeleteSecret secret={secret} />
              </>
            )}
          </div>
        </div>
        <Facts facts={facts} />
      </Card>
    </li>
  );
}
