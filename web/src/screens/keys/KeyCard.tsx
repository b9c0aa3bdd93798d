import type { ReactNode } from 'react';
import type { ApiKey } from '~/api/keys';
import { Card } from '~/components/Card';
import { Facts } from '~/components/Facts';
import { formatDay } from '~/components/formatDay';
import { Tag } from '~/components/Tag';
import { useLanguage } from '~/i18n';
import css from '~/screens/members/members.module.css';
import { PatternList } from '~/screens/members/PatternList';
import { KEY_TONES, keyStatus } from './keyStatus';
import keys from './keys.module.css';
import { RevokeKey } from './RevokeKey';

interface Props {
  apiKey: ApiKey;
  withOwner: boolean;
}

export function KeyCard({ apiKey, withOwner }: Props) {
  const { locale, messages } = useLanguage();
  const texts = messages.keys;
  const { name, prefix, owner, patterns, createdAt, expiresAt, revokedAt } = apiKey;
  const status = keyStatus(apiKey, Date.now());
  const facts: [string, ReactNode][] = [
    [messages.members.patterns, <PatternList key="patterns" patterns={patterns} />],
    [texts.created, formatDay(createdAt, locale)],
    revokedAt === null
      ? [texts.expires, formatDay(expiresAt, locale)]
      : [texts.revokedOn, formatDay(revokedAt, locale)],
  ];
  if (withOwner) facts.unshift([texts.actsFor, owner]);
  return (
    <li aria-label={name}>
      <Card>
        <div className={css.header}>
          <h2>{name}</h2>
          <Tag tone={KEY_TONES[status]}>{texts.status[status]}</Tag>
          <code className={keys.prefix}>{prefix}…</code>
          <span className={css.spacer} />
          {status === 'valid' && <RevokeKey apiKey={apiKey} />}
        </div>
        <Facts facts={facts} />
      </Card>
    </li>
  );
}
