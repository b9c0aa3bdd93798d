import { Switch } from '@mantine/core';
import type { ChangeEvent } from 'react';
import { useToggleTool } from '~/api/tools';
import { notifyError } from '~/components/notifications';
import { useMessages } from '~/i18n';
import { type ToolGroup, versionsToToggle } from './rows';

/** Enables or disables a tool with all its versions. */
export function ToolSwitch({ group, disabled = false }: { group: ToolGroup; disabled?: boolean }) {
  const messages = useMessages();
  const toggle = useToggleTool();
  const handleChange = (event: ChangeEvent<HTMLInputElement>) => {
    const isEnabled = event.currentTarget.checked;
    toggle.mutate({ versions: versionsToToggle(group, isEnabled), isEnabled }, { onError: notifyError });
  };
  return (
    <Switch
      size="xs"
      aria-label={messages.tools.toggleTool(group.main.name)}
      checked={group.main.isEnabled}
      disabled={disabled || toggle.isPending}
      onChange={handleChange}
    />
  );
}
