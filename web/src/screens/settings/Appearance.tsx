import { type MantineColorScheme, SegmentedControl, useMantineColorScheme } from '@mantine/core';
import { Card } from '~/components/Card';
import { LANGUAGES, useLanguage } from '~/i18n';
import css from './settings.module.css';

const THEMES: MantineColorScheme[] = ['auto', 'light', 'dark'];

export function Appearance() {
  const { colorScheme, setColorScheme } = useMantineColorScheme({ keepTransitions: true });
  const { language, messages, setLanguage } = useLanguage();
  return (
    <Card>
      <h2>{messages.settings.appearance}</h2>
      <dl className={css.facts}>
        <div>
          <dt>{messages.settings.theme}</dt>
          <dd>
            <SegmentedControl
              aria-label={messages.settings.theme}
              value={colorScheme}
              data={THEMES.map((value) => ({ value, label: messages.settings.themes[value] }))}
              onChange={(value) => setColorScheme(value as MantineColorScheme)}
            />
          </dd>
        </div>
        <div>
          <dt>{messages.settings.language}</dt>
          <dd>
            <SegmentedControl
              aria-label={messages.settings.language}
              value={language}
              data={Object.entries(LANGUAGES).map(([value, { name }]) => ({ value, label: name }))}
              onChange={setLanguage}
            />
          </dd>
        </div>
      </dl>
    </Card>
  );
}
