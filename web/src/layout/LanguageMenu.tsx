import { ActionIcon, Menu } from '@mantine/core';
import { Icon } from '~/components/Icon';
import { LANGUAGES, useLanguage } from '~/i18n';

export function LanguageMenu() {
  const { messages, setLanguage } = useLanguage();
  return (
    <Menu>
      <Menu.Target>
        <ActionIcon variant="subtle" color="gray" size="lg" aria-label={messages.nav.language}>
          <Icon name="language" />
        </ActionIcon>
      </Menu.Target>
      <Menu.Dropdown>
        {Object.entries(LANGUAGES).map(([code, { name }]) => (
          <Menu.Item key={code} lang={code} onClick={() => setLanguage(code)}>
            {name}
          </Menu.Item>
        ))}
      </Menu.Dropdown>
    </Menu>
  );
}
