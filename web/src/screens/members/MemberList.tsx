import { type Me, useGrants, useMembers } from '~/api/members';
import { QueryView } from '~/components/QueryView';
import { useMessages } from '~/i18n';
import { MemberCard } from './MemberCard';
import css from './members.module.css';

export function MemberList({ me }: { me: Me }) {
  const messages = useMessages();
  const members = useMembers();
  const grants = useGrants();
  return (
    <QueryView query={members}>
      {(found) => (
        <QueryView query={grants}>
          {(all) => (
            <ul className={css.list} aria-label={messages.members.title}>
              {found.map((member) => (
                <MemberCard
                  key={`${member.kind} ${member.id}`}
                  member={member}
                  grants={all.filter((grant) => grant.kind === member.kind && grant.member === member.id)}
                  isUser={member.id === me.principal}
                />
              ))}
            </ul>
          )}
        </QueryView>
      )}
    </QueryView>
  );
}
