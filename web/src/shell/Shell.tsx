// The frame around every screen: where one is, and where one can go.
import { ActionIcon, Menu, Tooltip, useComputedColorScheme, useMantineColorScheme } from '@mantine/core';
import type { ReactNode } from 'react';
import { Link, useLocation } from 'wouter';
import { useLogOut } from '~/api/login';
import { LANGUAGES, useLanguage, useWords } from '~/i18n';
import type { Messages } from '~/i18n/en';
import { Icon, type IconName } from '~/parts/Icon';
import { tellFailure } from '~/parts/notify';
import css from './shell.module.css';

const PLACES: [keyof Messages['nav'], IconName][] = [
  ['tools', 'tools'],
  ['chat', 'chat'],
  ['playground', 'code'],
  ['servers', 'servers'],
  ['stats', 'stats'],
  ['settings', 'settings'],
];

export function Shell({ children }: { children: ReactNode }) {
  const words = useWords();
  return (
    <div className={css.frame}>
      <a className={css.skip} href="#content">
        {words.nav.skip}
      </a>
      <aside className={css.side}>
        <Link href="/tools" className={css.brand}>
          <img src="/favicon.svg" alt="" width="28" height="28" /> OneTool
        </Link>
        <Places />
        <Corner />
      </aside>
      <main id="content" className={css.content} tabIndex={-1}>
        {children}
      </main>
    </div>
  );
}

function Places() {
  const words = useWords();
  const [location] = useLocation();
  return (
    <nav className={css.places} aria-label={words.nav.main}>
      {PLACES.map(([name, icon]) => (
        <Link key={name} href={`/${name}`} className={css.place} aria-current={location.startsWith(`/${name}`) ? 'page' : undefined}>
          <Icon name={icon} size={20} />
          <span>{words.nav[name]}</span>
        </Link>
      ))}
    </nav>
  );
}

function Corner() {
  const words = useWords();
  const logOut = useLogOut();
  return (
    <div className={css.corner}>
      <Languages />
      <Colours />
      <Tooltip label={words.nav.logOut}>
        <ActionIcon variant="subtle" color="gray" size="lg" aria-label={words.nav.logOut} onClick={() => logOut.mutate(undefined, { onError: tellFailure })}>
          <Icon name="logOut" />
        </ActionIcon>
      </Tooltip>
    </div>
  );
}

export function Languages() {
  const { speak, messages: words } = useLanguage();
  return (
    <Menu>
      <Menu.Target>
        <ActionIcon variant="subtle" color="gray" size="lg" aria-label={words.nav.language}>
          <Icon name="language" />
        </ActionIcon>
      </Menu.Target>
      <Menu.Dropdown>
        {Object.entries(LANGUAGES).map(([key, language]) => (
          <Menu.Item key={key} lang={key} onClick={() => speak(key)}>
            {language.name}
          </Menu.Item>
        ))}
      </Menu.Dropdown>
    </Menu>
  );
}

export function Colours() {
  const words = useWords();
  const { setColorScheme } = useMantineColorScheme({ keepTransitions: true });
  const isDark = useComputedColorScheme('light') === 'dark';
  const label = isDark ? words.nav.light : words.nav.dark;
  return (
    <Tooltip label={label}>
      <ActionIcon variant="subtle" color="gray" size="lg" aria-label={label} onClick={() => setColorScheme(isDark ? 'light' : 'dark')}>
        <Icon name={isDark ? 'sun' : 'moon'} />
      </ActionIcon>
    </Tooltip>
  );
}
