import css from './components.module.css';

interface Props {
  /** The name in code: `pack.function`, with a version or not. */
  name: string;
  /** The display name. It is omitted if it only repeats the name. */
  title?: string;
  /** The arguments of a call, as they are written in code. */
  args?: string;
  className?: string;
}

/** The name of a tool, written in the same way everywhere: its title, and `pack.function` as code. */
export function ToolName({ name, title, args, className = '' }: Props) {
  return (
    <span className={`${css.toolName} ${className}`}>
      {title && title !== name && (
        <>
          <bdi className={css.toolTitle}>{title}</bdi>{' '}
        </>
      )}
      <code>
        {name}
        {args !== undefined && <span>({args})</span>}
      </code>
    </span>
  );
}
