import { useMessages } from '~/i18n';
import type { PromptProps } from './promptProps';
import css from './questions.module.css';
import { ServerPrompt } from './ServerPrompt';

/** A question that only the MCP client that started the call can answer. It can be declined. */
export function OtherPrompt(props: PromptProps) {
  const messages = useMessages();
  return (
    <ServerPrompt {...props}>
      <p className={css.muted}>{messages.questions.otherClient}</p>
    </ServerPrompt>
  );
}
