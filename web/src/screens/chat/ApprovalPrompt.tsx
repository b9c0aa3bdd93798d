import { Button, Group } from '@mantine/core';
import type { Decision } from '~/api/chat';
import { useMessages } from '~/i18n';
import css from './chat.module.css';

interface Props {
  approval: string;
  tool: string;
  onDecide: (approval: string, decision: Decision) => void;
}

/** Asks whether the model may run a tool. */
export function ApprovalPrompt({ approval, tool, onDecide }: Props) {
  const messages = useMessages();
  const title = messages.chat.approvalTitle(tool);
  return (
    <fieldset className={css.approval} aria-label={title}>
      <span>
        <strong>{title}</strong> <span className={css.muted}>{messages.chat.approvalHint}</span>
      </span>
      <Group gap={8}>
        <Button size="compact-sm" onClick={() => onDecide(approval, 'approve')}>
          {messages.chat.run}
        </Button>
        <Button size="compact-sm" variant="default" onClick={() => onDecide(approval, 'deny')}>
          {messages.chat.discard}
        </Button>
        <Button size="compact-sm" variant="default" onClick={() => onDecide(approval, 'always')}>
          {messages.chat.alwaysRun}
        </Button>
      </Group>
    </fieldset>
  );
}
