import { Tabs } from '@mantine/core';
import type { ReactNode } from 'react';
import { useSearchParams } from 'wouter';
import { useSettings } from '~/api/settings';
import { Notice } from '~/components/Notice';
import { useMessages } from '~/i18n';
import { AdvancedSettings } from './AdvancedSettings';
import { Appearance } from './Appearance';
import { ChatModels } from './ChatModels';
import { LocalSecrets } from './LocalSecrets';
import { Overview } from './Overview';
import { Profiles } from './Profiles';
import { Rules } from './Rules';
import { SettingGroup } from './SettingGroup';
import { DATA_KEYS, NETWORK_KEYS } from './sectionKeys';
import css from './settings.module.css';

type Section = keyof ReturnType<typeof useMessages>['configuration']['sections'];

/** All sections of the settings of a server with a single user. The URL has the name of the open one. */
export function SettingSections() {
  const texts = useMessages().configuration;
  const [params, setParams] = useSearchParams();
  const canEdit = useSettings().data?.canEdit;
  const contents: Record<Section, ReactNode> = {
    overview: <Overview />,
    models: <ChatModels canEdit={canEdit} />,
    secrets: <LocalSecrets canEdit={canEdit === true} />,
    rules: <Rules />,
    profiles: <Profiles />,
    network: <SettingGroup title={texts.sections.network} lead={texts.networkLead} keys={NETWORK_KEYS} />,
    data: <SettingGroup title={texts.sections.data} lead={texts.dataLead} keys={DATA_KEYS} />,
    appearance: <Appearance />,
    advanced: <AdvancedSettings />,
  };
  const names = Object.keys(contents) as Section[];
  const section = names.find((name) => name === params.get('section')) ?? 'overview';
  return (
    <Tabs
      value={section}
      keepMounted={false}
      onChange={(name) => setParams(name && name !== 'overview' ? { section: name } : {})}
    >
      <Tabs.List aria-label={texts.sectionsLabel} mb="md">
        {names.map((name) => (
          <Tabs.Tab key={name} value={name}>
            {texts.sections[name]}
          </Tabs.Tab>
        ))}
      </Tabs.List>
      {names.map((name) => (
        <Tabs.Panel key={name} value={name} className={css.sections}>
          {canEdit === false && name !== 'overview' && name !== 'appearance' && <Notice>{texts.readOnly}</Notice>}
          {contents[name]}
        </Tabs.Panel>
      ))}
    </Tabs>
  );
}
