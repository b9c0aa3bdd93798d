import type { Secret, SecretOwner } from '~/api/secrets';
import { useMessages } from '~/i18n';
import cards from '~/screens/members/members.module.css';
import { SecretCard } from './SecretCard';
import type { SecretDraft } from './SecretDialog';
import css from './secrets.module.css';

interface Props {
  of: SecretOwner;
  /** The secrets of both owners. */
  all: Secret[];
  mayChange: boolean;
  onEdit: (draft: SecretDraft) => void;
}

/** The secrets of the user, or those of the workspace. */
export function SecretSection({ of, all, mayChange, onEdit }: Props) {
  const texts = useMessages().secrets;
  const isOwn = of === 'me';
  const secrets = all.filter((secret) => secret.of === of);
  const ownNames = new Set(all.filter((secret) => secret.of === 'me').map(({ name }) => name));
  const title = isOwn ? texts.own : texts.shared;
  return (
    <section className={css.section}>
      <h2>{title}</h2>
      <p>{isOwn ? texts.ownLead : texts.sharedLead}</p>
      {secrets.length ? (
        <ul className={cards.list} aria-label={title}>
          {secrets.map((secret) => (
            <SecretCard
              key={secret.name}
              secret={secret}
              isReplaced={!isOwn && ownNames.has(secret.name)}
              mayChange={mayChange}
              onEdit={onEdit}
            />
          ))}
        </ul>
      ) : (
        <p className={css.empty}>{isOwn ? texts.emptyOwn : texts.emptyShared}</p>
      )}
    </section>
  );
}
