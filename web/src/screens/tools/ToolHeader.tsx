import { Select, Switch } from '@mantine/core';
import type { ChangeEvent } from 'react';
import { type Tool, useBundles, useToggleTool } from '~/api/tools';
import { notifyError } from '~/components/notifications';
import { ToolName } from '~/components/ToolName';
import { useMessages } from '~/i18n';
import { ToolFacts } from './ToolFacts';
import css from './toolPage.module.css';
import { VersionActions } from './VersionActions';

interface Props {
  tool: Tool;
  versions: Tool[];
  onVersion: (version: string | null) => void;
}

export function ToolHeader({ tool, versions, onVersion }: Props) {
  const messages = useMessages();
  const toggle = useToggleTool();
  const bundles = useBundles();
  const bundle = bundles.data?.find(({ id }) => id === tool.bundleID);
  const isStored = bundle?.origin === 'bundle';
  const handleToggle = (event: ChangeEvent<HTMLInputElement>) =>
    toggle.mutate({ versions: [tool], isEnabled: event.currentTarget.checked }, { onError: notifyError });
  return (
    <header className={css.header}>
      <div className={css.summary}>
        <h1>
          <ToolName name={tool.name} title={tool.displayName} />
        </h1>
        <p>{tool.description}</p>
        <ToolFacts tool={tool} origin={bundle?.origin} />
      </div>
      <div className={css.controls}>
        <Switch
          label={tool.isEnabled ? messages.common.enabled : messages.common.disabled}
          aria-label={messages.tools.toggleTool(tool.name)}
          checked={tool.isEnabled}
          disabled={toggle.isPending || bundle?.isEnabled === false}
          onChange={handleToggle}
        />
        {(versions.length > 1 || isStored) && (
          <Select
            size="sm"
            className={css.version}
            aria-label={messages.toolPage.version}
            data={versions.map(({ version }) => version)}
            value={tool.version}
            allowDeselect={false}
            onChange={onVersion}
          />
        )}
        {isStored && <VersionActions tool={tool} isLast={versions.length === 1} />}
      </div>
    </header>
  );
}
