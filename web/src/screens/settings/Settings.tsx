// How OneTool is, what to do about it, and how it looks.
import { SegmentedControl, useMantineColorScheme } from '@mantine/core';
import type { ReactNode } from 'react';
import { useProviders } from '~/api/chat';
import { useHealth } from '~/api/system';
import { LANGUAGES, useLanguage, useWords } from '~/i18n';
import { Card, Head, Note, Shown, Tag } from '~/parts/parts';
import css from './settings.module.css';

type Health = NonNullable<ReturnType<typeof useHealth>['data']>;

export default function Settings() {
  const words = useWords();
  const health = useHealth();
  return (
    <>
      <Head title={words.settings.title} lead={words.settings.lead} />
      <div className={css.all}>
        <Shown asked={health}>
          {(found) => (
            <>
              <Problems health={found} />
              <System health={found} />
            </>
          )}
        </Shown>
        <Models />
        <Look />
      </div>
    </>
  );
}

function Problems({ health }: { health: Health }) {
  const words = useWords();
  if (health.problems.length === 0) {
    return (
      <Note mood="good">
        <strong>{words.settings.fine}.</strong> {words.settings.fineHint}
      </Note>
    );
  }
  return (
    <Card>
      <h2>{words.settings.problems(health.problems.length)}</h2>
      <ul className={css.problems}>
        {health.problems.map((problem) => (
          <li key={problem.what}>
            <Note mood="warn">
              <div>{problem.what}</div>
              {problem.fix && (
                <div className={css.fix}>
                  {words.settings.fix}: <code>{problem.fix}</code>
                </div>
              )}
            </Note>
          </li>
        ))}
      </ul>
    </Card>
  );
}

function System({ health }: { health: Health }) {
  const words = useWords();
  const facts: [string, ReactNode][] = [
    [words.settings.version, health.version],
    [words.settings.python, health.python],
    [words.settings.cwd, <code key="cwd">{health.cwd}</code>],
    [words.settings.tools, health.toolCount.toLocaleString()],
    [words.settings.abandoned, health.abandoned],
  ];
  return (
    <Card>
      <h2>{words.settings.system}</h2>
      <dl className={css.facts}>
        {facts.map(([name, value]) => (
          <div key={name}>
            <dt>{name}</dt>
            <dd>{value}</dd>
          </div>
        ))}
        {Object.entries(health.servers).map(([name, answers]) => (
          <div key={name}>
            <dt>{name}</dt>
            <dd>
              <Tag mood={answers ? 'good' : 'bad'}>{answers ? words.settings.answers : words.settings.silent}</Tag>
            </dd>
          </div>
        ))}
      </dl>
    </Card>
  );
}

function Models() {
  const words = useWords();
  const providers = useProviders();
  return (
    <Card>
      <h2>{words.settings.models}</h2>
      <Shown asked={providers}>
        {(known) => (
          <ul className={css.models}>
            {known.providers.length === 0 && <li className={css.soft}>{words.settings.noModels}</li>}
            {known.providers.map((one) => (
              <li key={one.name}>
                <strong>{one.name}</strong>
                <code>{one.model}</code>
                {one.name === known.default && <Tag mood="accent">{words.settings.standard}</Tag>}
                <Tag mood={one.key === 'missing' ? 'warn' : 'plain'}>{words.settings.key[one.key]}</Tag>
              </li>
            ))}
          </ul>
        )}
      </Shown>
    </Card>
  );
}

function Look() {
  const words = useWords();
  const { colorScheme, setColorScheme } = useMantineColorScheme({ keepTransitions: true });
  const { language, speak } = useLanguage();
  return (
    <Card>
      <h2>{words.settings.look}</h2>
      <dl className={css.facts}>
        <div>
          <dt>{words.settings.colours}</dt>
          <dd>
            <SegmentedControl aria-label={words.settings.colours} value={colorScheme} data={(['auto', 'light', 'dark'] as const).map((value) => ({ value, label: words.settings[value] }))} onChange={(value) => setColorScheme(value as 'auto')} />
          </dd>
        </div>
        <div>
          <dt>{words.settings.language}</dt>
          <dd>
            <SegmentedControl aria-label={words.settings.language} value={language} data={Object.entries(LANGUAGES).map(([value, one]) => ({ value, label: one.name }))} onChange={speak} />
          </dd>
        </div>
      </dl>
    </Card>
  );
}
