import { Button } from '@mantine/core';
import { useState } from 'react';
import { useSecrets } from '~/api/secrets';
import { Icon } from '~/components/Icon';
import { QueryView } from '~/components/QueryView';
import { useMessages } from '~/i18n';
import cards from '~/screens/members/members.module.css';
import { SecretCard } from '~/screens/secrets/SecretCard';
import { SecretDialog, type SecretDraft } from '~/screens/secrets/SecretDialog';
import css from './settings.module.css';

/** The user's secrets. Their values cannot be read. */
export function LocalSecrets({ canEdit }: { canEdit: boolean }) {
  const messages = useMessages();
  const texts = messages.configuration;
  const secrets = useSecrets(canEdit);
  const [draft, setDraft] = useState<SecretDraft | null>(null);
  return (
    <section>
      <div className={css.sectionHeader}>
        <p className={css.lead}>{texts.secretsLead}</p>
        {canEdit && (
          <Button onClick={() => setDraft({ of: 'me' })} leftSection={<Icon name="plus" size={16} />}>
            {messages.secrets.add}
          </Button>
        )}
      </div>
      {canEdit && (
        <QueryView query={secrets}>
          {(all) => (
            <>
              {all.length === 0 && <p className={css.muted}>{texts.noSecrets}</p>}
              <ul className={cards.list} aria-label={texts.sections.secrets}>
                {all.map((secret) => (
                  <SecretCard key={secret.name} secret={secret} isReplaced={false} mayChange onEdit={setDraft} />
                ))}
              </ul>
            </>
          )}
        </QueryView>
      )}
      {draft && (
        <SecretDialog draft={draft} taken={secrets.data ?? []} owners={['me']} onClose={() => setDraft(null)} />
      )}
    </section>
  );
}
