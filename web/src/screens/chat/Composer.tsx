import { ActionIcon, Button, Select, Switch, Textarea } from '@mantine/core';
import { useDisclosure } from '@mantine/hooks';
import { type KeyboardEvent, useRef, useState } from 'react';
import { type ChatBody, useProviders } from '~/api/chat';
import type { Tool } from '~/api/tools';
import { Icon } from '~/components/Icon';
import { InlineMarkdown } from '~/components/InlineMarkdown';
import { Notice } from '~/components/Notice';
import { useMessages } from '~/i18n';
import type { CompletedCall } from '~/screens/tester/useCall';
import { AttachButton } from './AttachButton';
import { AttachmentChip } from './AttachmentChip';
import { type Attachment, buildMessage } from './attachments';
import css from './chat.module.css';
import type { ChatFile } from './chatFiles';
import { FileList } from './FileList';
import { Palette } from './Palette';
import { ToolCallForm } from './ToolCallForm';
import { useChatFiles } from './useChatFiles';

interface Props {
  isBusy: boolean;
  /** Whether the earlier messages are loaded. */
  isReady: boolean;
  /** Sends a message. Resolves to whether the server accepted it. */
  onSend: (body: ChatBody, files: ChatFile[]) => Promise<boolean>;
  onStop: () => void;
}

/** The input for messages, with the tool palette and attached tool results. */
export function Composer({ isBusy, isReady, onSend, onStop }: Props) {
  const messages = useMessages();
  const providers = useProviders();
  const [text, setText] = useState('');
  const [selectedProvider, setSelectedProvider] = useState<string | null>(null);
  const [withTools, setWithTools] = useState(true);
  const [attachments, setAttachments] = useState<Attachment[]>([]);
  const { files, setFiles, add, remove, handlePaste, dropHandlers } = useChatFiles();
  const [tool, setTool] = useState<Tool | null>(null);
  const [isPaletteOpen, palette] = useDisclosure(false);
  const input = useRef<HTMLTextAreaElement>(null);
  const provider = selectedProvider ?? providers.data?.default ?? null;
  const hasContent = text.trim() !== '' || attachments.length > 0 || files.length > 0;
  // While the providers are loading, the server uses its default.
  const hasProvider = provider !== null || providers.isPending;
  const canSend = !isBusy && isReady && hasProvider && hasContent;

  const send = async () => {
    if (!canSend) return;
    setText('');
    setAttachments([]);
    setFiles([]);
    const message = buildMessage(text, attachments) || files.map(({ name }) => name).join(', ');
    const sent = files.map(({ name, data }) => ({ name, data }));
    if (await onSend({ text: message, attachments: sent, provider, withTools }, files)) return;
    // The server did not accept the message, so restore it.
    setText((current) => current || text);
    setAttachments((current) => (current.length ? current : attachments));
    setFiles((current) => (current.length ? current : files));
  };
  const insertPlus = () => {
    palette.close();
    const position = input.current?.selectionStart ?? text.length;
    setText(`${text.slice(0, position)}+${text.slice(position)}`);
  };
  const selectTool = (selected: Tool) => {
    palette.close();
    setTool(selected);
  };
  const attach = (calledTool: Tool, call: CompletedCall) => {
    setAttachments((current) => [...current, { tool: calledTool, call }]);
    setTool((current) => (current === calledTool ? null : current));
    input.current?.focus();
  };
  const detach = (attachment: Attachment) =>
    setAttachments((current) => current.filter((other) => other !== attachment));
  const handleKey = (event: KeyboardEvent<HTMLTextAreaElement>) => {
    if (event.key === '+' && /(^|\s)$/.test(text.slice(0, event.currentTarget.selectionStart))) {
      event.preventDefault();
      palette.open();
    } else if (event.key === 'Enter' && !event.shiftKey && !event.nativeEvent.isComposing) {
      event.preventDefault();
      void send();
    }
  };
  const options = (providers.data?.providers ?? []).map(({ name, key }) => ({
    value: name,
    label: key === 'missing' ? `${name} (${messages.chat.keyMissing})` : name,
  }));
  return (
    <div className={css.composer} {...dropHandlers}>
      {tool && (
        <ToolCallForm key={tool.id} tool={tool} onDone={(call) => attach(tool, call)} onClose={() => setTool(null)} />
      )}
      {attachments.map((attachment) => (
        <AttachmentChip key={attachment.call.id} attachment={attachment} onRemove={() => detach(attachment)} />
      ))}
      {providers.data && provider === null && (
        <Notice tone="warning">
          <strong>{messages.chat.noProviderTitle}</strong> <InlineMarkdown text={messages.chat.noProviderHint} />
        </Notice>
      )}
      <FileList files={files} onRemove={remove} />
      <div className={css.inputBox}>
        <Textarea
          ref={input}
          aria-label={messages.chat.message}
          placeholder={messages.chat.placeholder}
          variant="unstyled"
          autosize
          minRows={1}
          maxRows={10}
          value={text}
          onChange={(event) => setText(event.currentTarget.value)}
          onKeyDown={handleKey}
          onPaste={handlePaste}
        />
        <div className={css.inputBar}>
          <ActionIcon variant="default" size="lg" aria-label={messages.chat.callTool} onClick={palette.open}>
            <Icon name="plus" />
          </ActionIcon>
          <AttachButton onFiles={(chosen) => void add(chosen)} />
          {options.length > 0 && (
            <Select
              className={css.model}
              size="xs"
              aria-label={messages.chat.model}
              placeholder={messages.chat.model}
              data={options}
              value={provider}
              allowDeselect={false}
              onChange={setSelectedProvider}
            />
          )}
          <Switch
            size="xs"
            label={messages.chat.useTools}
            checked={withTools}
            onChange={(event) => setWithTools(event.currentTarget.checked)}
          />
          <span className={css.spacer} />
          {isBusy ? (
            <Button size="sm" color="red" variant="light" leftSection={<Icon name="stop" size={14} />} onClick={onStop}>
              {messages.chat.stop}
            </Button>
          ) : (
            <Button
              size="sm"
              disabled={!canSend}
              leftSection={<Icon name="send" size={15} />}
              onClick={() => void send()}
            >
              {messages.chat.send}
            </Button>
          )}
        </div>
      </div>
      <Palette opened={isPaletteOpen} onClose={palette.close} onSelect={selectTool} onPlus={insertPlus} />
    </div>
  );
}
