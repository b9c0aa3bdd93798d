import { Button, CopyButton as MantineCopyButton } from '@mantine/core';
import type { ReactNode } from 'react';
import { useMessages } from '~/i18n';
import { Icon } from './Icon';

export function CopyButton({ text, children }: { text: string; children?: ReactNode }) {
  const messages = useMessages();
  return (
    <MantineCopyButton value={text}>
      {({ copied, copy }) => (
        <Button
          size="compact-sm"
          variant="default"
          leftSection={<Icon name={copied ? 'check' : 'copy'} size={14} />}
          onClick={copy}
        >
          {copied ? messages.common.copied : (children ?? messages.common.copy)}
        </Button>
      )}
    </MantineCopyButton>
  );
}
