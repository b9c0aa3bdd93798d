import type { Rule } from '~/api/access';
import { useMessages } from '~/i18n';
import css from './access.module.css';

/** A setting with its value, or a property of the tool, and what it means for a call. */
export function RuleText({ rule: { origin, value, effect } }: { rule: Rule }) {
  const messages = useMessages();
  const text = value ? `${origin}: ${value}` : origin;
  return (
    <>
      {origin.includes(' ') ? text : <code>{text}</code>}
      <span className={css.muted}> ({messages.access.effects[effect]})</span>
    </>
  );
}
