// Where a message is written: words, and the results of tools that were called for it.
import { ActionIcon, Button, Select, Switch, Textarea } from '@mantine/core';
import { useDisclosure } from '@mantine/hooks';
import { type KeyboardEvent, useRef, useState } from 'react';
import { type ChatBody, useProviders } from '~/api/chat';
import type { Tool } from '~/api/tools';
import { useWords } from '~/i18n';
import { Icon } from '~/parts/Icon';
import { Inline } from '~/parts/Markdown';
import { Note } from '~/parts/parts';
import type { Made } from '~/screens/tester/useCall';
import { type Attached, messageWith } from './attached';
import { CallChip } from './CallChip';
import css from './chat.module.css';
import { Palette } from './Palette';
import { ToolCall } from './ToolCall';

interface Props {
  isBusy: boolean;
  /** Whether what was said before is here. */
  isReady: boolean;
  onAsk: (body: ChatBody) => Promise<boolean>;
  onStop: () => void;
}

export function Composer({ isBusy, isReady, onAsk, onStop }: Props) {
  const words = useWords();
  const providers = useProviders();
  const [text, setText] = useState('');
  const [provider, setProvider] = useState<string | null>(null);
  const [withTools, setWithTools] = useState(true);
  const [attached, setAttached] = useState<Attached[]>([]);
  const [tool, setTool] = useState<Tool | null>(null);
  const [isOpen, palette] = useDisclosure(false);
  const input = useRef<HTMLTextAreaElement>(null);
  const chosen = provider ?? providers.data?.default ?? null;
  const canSend = !isBusy && isReady && chosen !== null && (text.trim() !== '' || attached.length > 0);

  const send = async () => {
    if (!canSend) return;
    setText('');
    setAttached([]);
    if (await onAsk({ text: messageWith(text, attached), provider: chosen, withTools })) return;
    setText((now) => now || text); // nobody has it yet: it can be sent again
    setAttached((now) => (now.length ? now : attached));
  };
  const plus = () => {
    palette.close();
    const at = input.current?.selectionStart ?? text.length;
    setText(`${text.slice(0, at)}+${text.slice(at)}`);
  };
  const pick = (taken: Tool) => {
    palette.close();
    setTool(taken);
  };
  const done = (from: Tool) => (made: Made) => {
    setAttached((before) => [...before, { tool: from, made }]);
    setTool((now) => (now === from ? null : now));
    input.current?.focus();
  };
  const press = (event: KeyboardEvent<HTMLTextAreaElement>) => {
    if (event.key === '+' && /(^|\s)$/.test(text.slice(0, event.currentTarget.selectionStart))) {
      event.preventDefault();
      palette.open();
    } else if (event.key === 'Enter' && !event.shiftKey && !event.nativeEvent.isComposing) {
      event.preventDefault();
      void send();
    }
  };
  const models = providers.data?.providers ?? [];
  return (
    <div className={css.composer}>
      {tool && <ToolCall key={tool.id} tool={tool} onDone={done(tool)} onClose={() => setTool(null)} />}
      {attached.map((one) => (
        <AttachedChip key={one.made.id} attached={one} onRemove={() => setAttached((before) => before.filter((other) => other !== one))} />
      ))}
      {providers.data && chosen === null && (
        <Note mood="warn">
          <strong>{words.chat.noProvider}</strong> <Inline text={words.chat.noProviderHint} />
        </Note>
      )}
      <div className={css.box}>
        <Textarea ref={input} aria-label={words.chat.message} placeholder={words.chat.placeholder} variant="unstyled" autosize minRows={1} maxRows={10} value={text} onChange={(event) => setText(event.currentTarget.value)} onKeyDown={press} />
        <div className={css.boxBar}>
          <ActionIcon variant="default" size="lg" aria-label={words.chat.callTool} onClick={palette.open}>
            <Icon name="plus" />
          </ActionIcon>
          {models.length > 0 && (
            <Select
              className={css.model}
              size="xs"
              aria-label={words.chat.model}
              placeholder={words.chat.model}
              data={models.map((one) => ({ value: one.name, label: one.key === 'missing' ? `${one.name} (${words.chat.keyMissing})` : one.name }))}
              value={chosen}
              allowDeselect={false}
              onChange={setProvider}
            />
          )}
          <Switch size="xs" className={css.withTools} label={words.chat.useTools} checked={withTools} onChange={(event) => setWithTools(event.currentTarget.checked)} />
          <span className={css.spring} />
          {isBusy ? (
            <Button size="sm" color="red" variant="light" leftSection={<Icon name="stop" size={14} />} onClick={onStop}>
              {words.chat.stop}
            </Button>
          ) : (
            <Button size="sm" disabled={!canSend} leftSection={<Icon name="send" size={15} />} onClick={() => void send()}>
              {words.chat.send}
            </Button>
          )}
        </div>
      </div>
      <Palette opened={isOpen} onClose={palette.close} onPick={pick} onPlus={plus} />
    </div>
  );
}

function AttachedChip({ attached: { tool, made }, onRemove }: { attached: Attached; onRemove: () => void }) {
  const words = useWords();
  const ok = made.answer?.ok === true;
  const call = { id: String(made.id), name: tool.name, args: made.args, state: ok ? ('done' as const) : ('failed' as const), ms: made.ms, result: ok ? made.answer?.value : made.answer?.error?.message };
  return (
    <div className={css.attached}>
      <CallChip call={call} />
      <span className={css.soft}>{words.chat.attached}</span>
      <ActionIcon variant="subtle" color="gray" aria-label={words.chat.detach} onClick={onRemove}>
        <Icon name="close" size={15} />
      </ActionIcon>
    </div>
  );
}
