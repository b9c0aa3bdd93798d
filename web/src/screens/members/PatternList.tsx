import { useMessages } from '~/i18n';
import css from './members.module.css';

/** Patterns of the tools that may be called. */
export function PatternList({ patterns }: { patterns: string[] }) {
  const messages = useMessages();
  if (patterns.length === 0) return <span>{messages.members.allTools}</span>;
  return (
    <span className={css.patterns}>
      {patterns.map((pattern) => (
        <code key={pattern}>{pattern}</code>
      ))}
    </span>
  );
}
