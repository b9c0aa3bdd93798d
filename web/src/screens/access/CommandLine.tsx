import { CopyButton } from '~/components/CopyButton';
import css from './access.module.css';

/** A command to copy, and what it does. */
export function CommandLine({ label, command }: { label: string; command: string }) {
  return (
    <div className={css.command}>
      <span>{label}</span>
      <div>
        <code>{command}</code>
        <CopyButton text={command} />
      </div>
    </div>
  );
}
