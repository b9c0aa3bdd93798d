import css from './components.module.css';

/** A scrollable block of preformatted text. */
export function CodeBlock({ children, label }: { children: string; label: string }) {
  return (
    <section className={css.codeBlock} tabIndex={0} aria-label={label}>
      <pre>{children}</pre>
    </section>
  );
}
