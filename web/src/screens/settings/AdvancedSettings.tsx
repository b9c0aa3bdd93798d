import { Checkbox, TextInput } from '@mantine/core';
import { useState } from 'react';
import { useSettings } from '~/api/settings';
import { Card } from '~/components/Card';
import { Icon } from '~/components/Icon';
import { QueryView } from '~/components/QueryView';
import { useMessages } from '~/i18n';
import { SettingField } from './SettingField';
import { isAdvanced } from './sectionKeys';
import css from './settings.module.css';
import { fieldKind } from './settingText';

/** All settings that have no section of their own. */
export function AdvancedSettings() {
  const texts = useMessages().configuration;
  const [query, setQuery] = useState('');
  const [isOnlyChanged, setIsOnlyChanged] = useState(false);
  const words = query.toLowerCase().split(/\s+/).filter(Boolean);
  const allSettings = useSettings();
  return (
    <Card>
      <h2>{texts.sections.advanced}</h2>
      <p className={css.lead}>{texts.advancedLead}</p>
      <div className={css.filters}>
        <TextInput
          aria-label={texts.search}
          placeholder={texts.search}
          leftSection={<Icon name="search" size={16} />}
          value={query}
          onChange={(event) => setQuery(event.currentTarget.value)}
        />
        <Checkbox
          label={texts.onlyChanged}
          checked={isOnlyChanged}
          onChange={(event) => setIsOnlyChanged(event.currentTarget.checked)}
        />
      </div>
      <QueryView query={allSettings}>
        {({ settings, canEdit, file }) => {
          const found = settings.filter(({ key, description, digest }) => {
            const text = `${key} ${description}`.toLowerCase();
            return isAdvanced(key) && (!isOnlyChanged || digest) && words.every((word) => text.includes(word));
          });
          // Those that are written as JSON come last.
          found.sort((a, b) => Number(fieldKind(a) === 'json') - Number(fieldKind(b) === 'json'));
          return (
            <>
              <p className={css.lead}>
                {texts.file} <code>{file}</code>
              </p>
              {found.length === 0 && <p className={css.muted}>{texts.noMatch}</p>}
              <ul className={css.settings} aria-label={texts.sections.advanced}>
                {found.map((setting) => (
                  <SettingField key={setting.key} setting={setting} canEdit={canEdit} />
                ))}
              </ul>
            </>
          );
        }}
      </QueryView>
    </Card>
  );
}
