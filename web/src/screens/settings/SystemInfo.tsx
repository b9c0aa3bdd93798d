import type { ReactNode } from 'react';
import type { Health } from '~/api/system';
import { Card } from '~/components/Card';
import { Tag } from '~/components/Tag';
import { useLanguage } from '~/i18n';
import { STATE_TONES } from '~/screens/servers/stateTones';
import css from './settings.module.css';

export function SystemInfo({ health }: { health: Health }) {
  const { locale, messages } = useLanguage();
  const facts: [string, ReactNode][] = [
    [messages.settings.version, health.version],
    [messages.settings.python, health.python],
    [messages.settings.cwd, <code key="cwd">{health.cwd}</code>],
    [messages.settings.tools, health.toolCount.toLocaleString(locale)],
    [messages.settings.abandonedThreads, health.abandoned],
  ];
  return (
    <Card>
      <h2>{messages.settings.system}</h2>
      <dl className={css.facts}>
        {facts.map(([name, value]) => (
          <div key={name}>
            <dt>{name}</dt>
            <dd>{value}</dd>
          </div>
        ))}
        {Object.entries(health.servers).map(([name, { state }]) => (
          <div key={name}>
            <dt>{name}</dt>
            <dd>
              <Tag tone={STATE_TONES[state]}>{messages.servers.state[state]}</Tag>
            </dd>
          </div>
        ))}
      </dl>
    </Card>
  );
}
