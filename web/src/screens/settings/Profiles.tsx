import { Button } from '@mantine/core';
import { useState } from 'react';
import { useSettings } from '~/api/settings';
import { Card } from '~/components/Card';
import { Icon } from '~/components/Icon';
import { InlineMarkdown } from '~/components/InlineMarkdown';
import { QueryView } from '~/components/QueryView';
import { useMessages } from '~/i18n';
import { ProfileDialog } from './ProfileDialog';
import { ProfileItem } from './ProfileItem';
import { profileNames, readProfiles } from './profiles';
import css from './settings.module.css';

/** The profiles: named parts of the tools. */
export function Profiles() {
  const texts = useMessages().configuration;
  // The name of the profile in the dialog; null: a new one; undefined: no dialog.
  const [edited, setEdited] = useState<string | null | undefined>(undefined);
  return (
    <Card>
      <h2>{texts.sections.profiles}</h2>
      <p className={css.lead}>
        <InlineMarkdown text={texts.profilesLead} />
      </p>
      <QueryView query={useSettings()}>
        {({ settings, canEdit }) => {
          const own = new Map(readProfiles(settings, 'stored'));
          const all = readProfiles(settings, 'value');
          return (
            <>
              {all.length === 0 && <p className={css.muted}>{texts.noProfiles}</p>}
              <ul className={css.models} aria-label={texts.sections.profiles}>
                {all.map(([name, profile]) => (
                  <ProfileItem
                    key={name}
                    name={name}
                    profile={profile}
                    isOwn={own.has(name)}
                    canEdit={canEdit}
                    onEdit={() => setEdited(name)}
                  />
                ))}
              </ul>
              {canEdit && (
                <Button mt="md" leftSection={<Icon name="plus" size={16} />} onClick={() => setEdited(null)}>
                  {texts.addProfile}
                </Button>
              )}
              {edited !== undefined && (
                <ProfileDialog
                  name={edited ?? undefined}
                  profile={(edited !== null && own.get(edited)) || {}}
                  taken={profileNames(settings, 'value')}
                  onClose={() => setEdited(undefined)}
                />
              )}
            </>
          );
        }}
      </QueryView>
    </Card>
  );
}
