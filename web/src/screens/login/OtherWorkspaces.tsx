import { Button } from '@mantine/core';
import { useEndSession, useSession } from '~/api/session';
import { Notice } from '~/components/Notice';
import { notifyError } from '~/components/notifications';
import { useMessages } from '~/i18n';
import { workspacePath } from '~/layout/workspacePath';
import css from './otherWorkspaces.module.css';

/** For a person who has logged in, but is no member here: the workspaces to which they belong. */
export function OtherWorkspaces() {
  const texts = useMessages().workspaces;
  const session = useSession().data;
  const leaving = useEndSession();
  if (!session) return null;
  const { person, workspaces } = session;
  return (
    <section className={css.section} aria-label={texts.yours}>
      <Notice tone="warning">{texts.notMember(person.name || person.email || person.id)}</Notice>
      {workspaces.length ? (
        <ul>
          {workspaces.map(({ slug, name }) => (
            <li key={slug}>
              <a href={workspacePath(slug)}>{name}</a>
            </li>
          ))}
        </ul>
      ) : (
        <p>{texts.none}</p>
      )}
      <Button
        variant="default"
        fullWidth
        loading={leaving.isPending}
        onClick={() => leaving.mutate(undefined, { onError: notifyError })}
      >
        {texts.otherAccount}
      </Button>
    </section>
  );
}
