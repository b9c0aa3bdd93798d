import type { ReactNode } from 'react';
import type { Grant, Member } from '~/api/members';
import { Card } from '~/components/Card';
import { Facts } from '~/components/Facts';
import { formatDay } from '~/components/formatDay';
import { Tag } from '~/components/Tag';
import { useLanguage } from '~/i18n';
import { GrantItem } from './GrantItem';
import { MemberActions } from './MemberActions';
import css from './members.module.css';
import { PatternList } from './PatternList';

interface Props {
  member: Member;
  grants: Grant[];
  /** Whether the member is the one who is logged in. */
  isUser: boolean;
}

export function MemberCard({ member, grants, isUser }: Props) {
  const { locale, messages } = useLanguage();
  const texts = messages.members;
  const name = member.name || member.id;
  const facts: [string, ReactNode][] = [
    [texts.patterns, <PatternList key="patterns" patterns={member.patterns} />],
    [texts.added, texts.addedBy(formatDay(member.addedAt, locale), member.addedBy)],
  ];
  if (member.email) facts.unshift([texts.email, member.email]);
  if (name !== member.id) facts.push([texts.id, <code key="id">{member.id}</code>]);
  return (
    <li aria-label={name}>
      <Card>
        <div className={css.header}>
          <h2>{name}</h2>
          <Tag>{texts.kinds[member.kind]}</Tag>
          <Tag tone="accent">{texts.roles[member.role]}</Tag>
          {isUser && <span className={css.muted}>{texts.you}</span>}
          <span className={css.spacer} />
          <MemberActions member={member} name={name} isUser={isUser} />
        </div>
        <Facts facts={facts}>
          {grants.length > 0 && (
            <div className={css.grants}>
              <dt>{texts.grants}</dt>
              <dd>
                {grants.map((grant) => (
                  <GrantItem key={grant.id} grant={grant} name={name} />
                ))}
              </dd>
            </div>
          )}
        </Facts>
      </Card>
    </li>
  );
}
