import { useMe } from '~/api/members';
import { useMessages } from '~/i18n';
import css from './layout.module.css';

/** Who is logged in to a workspace, and their roles. */
export function Identity() {
  const messages = useMessages();
  const me = useMe().data;
  if (!me) return null;
  return (
    <p className={css.identity}>
      <span>{messages.nav.loggedInAs}</span> <strong>{me.principal}</strong>
      <span>{me.roles.map((role) => messages.members.roles[role]).join(', ')}</span>
    </p>
  );
}
