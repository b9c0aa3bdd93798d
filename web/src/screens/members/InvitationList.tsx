import { useInvitations } from '~/api/invitations';
import { QueryView } from '~/components/QueryView';
import { useMessages } from '~/i18n';
import { InvitationCard } from './InvitationCard';
import css from './members.module.css';

/** The invitations that no one has accepted. Those who have accepted one are members. */
export function InvitationList() {
  const texts = useMessages().invitations;
  return (
    <QueryView query={useInvitations()}>
      {(all) => {
        const open = all.filter(({ acceptedAt }) => acceptedAt === null);
        if (!open.length) return null;
        return (
          <section className={css.invitations}>
            <h2>{texts.title}</h2>
            <ul className={css.list} aria-label={texts.title}>
              {open.map((invitation) => (
                <InvitationCard key={invitation.id} invitation={invitation} />
              ))}
            </ul>
          </section>
        );
      }}
    </QueryView>
  );
}
