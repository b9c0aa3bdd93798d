import { ActionIcon } from '@mantine/core';
import { Icon } from '~/components/Icon';
import { useMessages } from '~/i18n';
import type { Attachment } from './attachments';
import { CallChip } from './CallChip';
import css from './chat.module.css';
import type { ToolCallView } from './entries';

export function AttachmentChip({ attachment, onRemove }: { attachment: Attachment; onRemove: () => void }) {
  const messages = useMessages();
  return (
    <div className={css.attachment}>
      <CallChip call={toCallView(attachment)} />
      <span className={css.muted}>{messages.chat.attachment}</span>
      <ActionIcon variant="subtle" color="gray" aria-label={messages.chat.detach} onClick={onRemove}>
        <Icon name="close" size={15} />
      </ActionIcon>
    </div>
  );
}

function toCallView({ tool, call: { id, args, ms, result } }: Attachment): ToolCallView {
  const view = { id: String(id), name: tool.name, args, ms };
  if (!result?.ok) return { ...view, state: 'failed', result: result?.error?.message };
  return { ...view, state: 'done', result: result.value };
}
