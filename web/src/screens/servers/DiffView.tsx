import { useMessages } from '~/i18n';
import css from './servers.module.css';

/** A unified diff with colored lines. */
export function DiffView({ text }: { text: string }) {
  const messages = useMessages();
  return (
    <section className={css.diff} tabIndex={0} aria-label={messages.servers.diff}>
      <pre>
        {text.split('\n').map((line, index) => (
          <span key={index} data-change={changeOf(line)}>
            {line}
            {'\n'}
          </span>
        ))}
      </pre>
    </section>
  );
}

/** Return `+` or `-` for a changed line. Lines that start with `+++` or `---` are headers. */
function changeOf(line: string): string | undefined {
  return /^[+-](?![+-])/.test(line) ? line[0] : undefined;
}
