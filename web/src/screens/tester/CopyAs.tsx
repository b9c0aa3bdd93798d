import type { Tool } from '~/api/tools';
import { CopyButton } from '~/components/CopyButton';
import { useMessages } from '~/i18n';
import { toCliCommand, toCurl, toPython } from './snippets';
import css from './tester.module.css';
import type { Args } from './useCall';

/** Copies the call as a command or as code. */
export function CopyAs({ tool, args }: { tool: Tool; args: Args }) {
  const messages = useMessages();
  return (
    <div className={css.copyAs}>
      <div className={css.row}>
        <span className={css.muted}>{messages.tester.copyAs}</span>
        <CopyButton text={toCurl(tool, args)}>{messages.tester.curl}</CopyButton>
        <CopyButton text={toCliCommand(tool, args)}>{messages.tester.cli}</CopyButton>
        <CopyButton text={toPython(tool, args)}>{messages.tester.python}</CopyButton>
      </div>
    </div>
  );
}
