import { Button, Group, Stack } from '@mantine/core';
import { useEffect, useRef } from 'react';
import type { NewApiKey } from '~/api/keys';
import { CodeBlock } from '~/components/CodeBlock';
import { CopyButton } from '~/components/CopyButton';
import { InlineMarkdown } from '~/components/InlineMarkdown';
import { Notice } from '~/components/Notice';
import { useMessages } from '~/i18n';
import { toClientConfig } from './clientConfig';
import css from './keys.module.css';

interface Props {
  created: NewApiKey;
  onClose: () => void;
}

/** The text of a new key, and how an MCP client uses it. */
export function NewKey({ created, onClose }: Props) {
  const messages = useMessages();
  const texts = messages.keys;
  const view = useRef<HTMLDivElement>(null);
  useEffect(() => view.current?.focus(), []); // the button that had the focus is gone
  const config = toClientConfig(created.key, location.origin);
  return (
    <Stack ref={view} tabIndex={-1} className={css.newKey}>
      <Notice tone="warning">{texts.shownOnce}</Notice>
      <div className={css.secret}>
        <h3>{texts.key}</h3>
        <CopyButton text={created.key}>{texts.copyKey}</CopyButton>
        <CodeBlock label={texts.key}>{created.key}</CodeBlock>
      </div>
      <div className={css.secret}>
        <h3>{texts.client}</h3>
        <CopyButton text={config}>{texts.copyClient}</CopyButton>
        <CodeBlock label={texts.client}>{config}</CodeBlock>
        <p>
          <InlineMarkdown text={texts.clientHint} />
        </p>
      </div>
      <Group justify="flex-end">
        <Button onClick={onClose}>{texts.done}</Button>
      </Group>
    </Stack>
  );
}
