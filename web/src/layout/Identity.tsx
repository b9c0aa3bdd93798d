import { useMe } from '~/api/members';
import { useSession } from '~/api/session';
import { useMessages } from '~/i18n';
import css from './layout.module.css';

/** Who is logged in to a workspace, and their roles. */
export function Identity() {
  const messages = useMessages();
  const me = useMe().data;
  const person = useSession().data?.person;
  if (!me) return null;
  // A person is known by an id, and has a name only for readers.
  const name = (person?.id === me.principal && (person.name || person.email)) || me.principal;
  return (
    <p className={css.identity}>
      <span>{messages.nav.loggedInAs}</span> <strong title={me.principal}>{name}</strong>
      <span>{me.roles.map((role) => messages.members.roles[role]).join(', ')}</span>
    </p>
  );
}
