// Small things that every screen is made of.
import { Button, CopyButton, Loader } from '@mantine/core';
import type { ReactNode } from 'react';
import { messageOf, Problem } from '~/api/problem';
import { useWords } from '~/i18n';
import { Icon, type IconName } from './Icon';
import { Inline } from './Markdown';
import css from './parts.module.css';

export type Mood = 'plain' | 'good' | 'bad' | 'warn' | 'accent';
const moodClass = (mood: Mood) => (mood === 'plain' ? '' : (css[mood] ?? ''));

export function Card({ children, padded = true, className = '' }: { children: ReactNode; padded?: boolean; className?: string }) {
  return <div className={`${css.card} ${padded ? css.padded : ''} ${className}`}>{children}</div>;
}

/** A short word about something. */
export function Tag({ children, mood = 'plain', icon }: { children: ReactNode; mood?: Mood; icon?: IconName }) {
  return (
    <span className={`${css.tag} ${moodClass(mood)}`}>
      {icon && <Icon name={icon} size={13} />}
      {children}
    </span>
  );
}

export function TagButton({ children, label, pressed, onClick }: { children: ReactNode; label: string; pressed?: boolean; onClick: () => void }) {
  return (
    <button type="button" className={`${css.tag} ${pressed ? css.accent : ''}`} aria-label={label} aria-pressed={pressed} onClick={onClick}>
      {children}
    </button>
  );
}

/** Something that a person should know. */
export function Note({ children, mood = 'plain', action }: { children: ReactNode; mood?: Mood; action?: ReactNode }) {
  return (
    <div className={`${css.note} ${moodClass(mood)}`} role={mood === 'bad' ? 'alert' : undefined}>
      {mood !== 'plain' && <Icon name={mood === 'good' ? 'check' : 'alert'} />}
      <div>{children}</div>
      {action}
    </div>
  );
}

/** The head of a screen: what it is, and what can be done. */
export function Head({ title, lead, children }: { title: ReactNode; lead?: string; children?: ReactNode }) {
  return (
    <header className={css.head}>
      <div>
        <h1>{title}</h1>
        {lead && (
          <p>
            <Inline text={lead} />
          </p>
        )}
      </div>
      {children}
    </header>
  );
}

export function Empty({ title, children, icon = 'search' }: { title: string; children?: ReactNode; icon?: IconName }) {
  return (
    <div className={css.empty}>
      <Icon name={icon} size={28} />
      <h2>{title}</h2>
      {children}
    </div>
  );
}

export function Loading() {
  const words = useWords();
  return (
    <div className={css.loading} role="status">
      <Loader size="sm" /> {words.common.loading}
    </div>
  );
}

/** An error in words, with a way to try again. */
export function Failed({ error, retry }: { error: unknown; retry?: () => void }) {
  const words = useWords();
  const isAway = error instanceof Problem && error.status === 0;
  const again = retry && (
    <Button size="compact-sm" variant="default" onClick={retry}>
      {words.common.retry}
    </Button>
  );
  return (
    <Note mood="bad" action={again}>
      <strong>{words.common.failed}.</strong> <Inline text={isAway ? words.common.unreachable : messageOf(error)} />
    </Note>
  );
}

interface Asked<T> {
  data: T | undefined;
  error: unknown;
  refetch: () => unknown;
}

/** What was asked for: once it is here, while it comes, or why it does not. */
export function Shown<T>({ asked, children }: { asked: Asked<T>; children: (data: T) => ReactNode }) {
  const failed = asked.error ? <Failed error={asked.error} retry={() => asked.refetch()} /> : null;
  if (asked.data === undefined) return failed ?? <Loading />;
  return (
    <>
      {failed}
      {children(asked.data)}
    </>
  );
}

export function Pre({ children, label }: { children: string; label: string }) {
  return (
    <pre className={css.pre} tabIndex={0} role="region" aria-label={label}>
      {children}
    </pre>
  );
}

/** The heads of a table's columns. */
export function Columns({ names }: { names: string[] }) {
  return (
    <thead>
      <tr>
        {names.map((name) => (
          <th key={name} scope="col">
            {name}
          </th>
        ))}
      </tr>
    </thead>
  );
}

export function Copy({ text, children }: { text: string; children?: ReactNode }) {
  const words = useWords();
  return (
    <CopyButton value={text}>
      {({ copied, copy }) => (
        <Button size="compact-sm" variant="default" leftSection={<Icon name={copied ? 'check' : 'copy'} size={14} />} onClick={copy}>
          {copied ? words.common.copied : (children ?? words.common.copy)}
        </Button>
      )}
    </CopyButton>
  );
}
