import { ActionIcon, Button } from '@mantine/core';
import { useState } from 'react';
import { Link } from 'wouter';
import type { Schemas } from '~/api/client';
import { useApproveTools, useToolAccess } from '~/api/servers';
import { type Tool, usePackTools } from '~/api/tools';
import { CodeBlock } from '~/components/CodeBlock';
import { ErrorNotice } from '~/components/ErrorNotice';
import { Icon } from '~/components/Icon';
import { notify } from '~/components/notifications';
import { QueryView } from '~/components/QueryView';
import { Tag } from '~/components/Tag';
import { ToolName } from '~/components/ToolName';
import { useMessages } from '~/i18n';
import { toolPath } from '~/screens/tools/paths';
import { ToolSwitch } from '~/screens/tools/ToolSwitch';
import { OverrideDialog } from './OverrideDialog';
import css from './servers.module.css';

type Access = Schemas['ToolAccessResponse'];

/** The tools of a server: enable, disable and override them, and see which run without approval, and why. */
export function ToolAccess({ server, canEdit }: { server: string; canEdit: boolean }) {
  const messages = useMessages();
  const access = useToolAccess(server);
  const tools = usePackTools(server);
  const approval = useApproveTools(server);
  const [overridden, setOverridden] = useState<string | null>(null);
  const approve = (name: string, pin: string) =>
    approval.mutate({ [name]: pin }, { onSuccess: () => notify(messages.servers.approved(name)) });
  return (
    <>
      <h3>{messages.servers.tools}</h3>
      {approval.error ? <ErrorNotice error={approval.error} /> : null}
      <QueryView query={access}>
        {(list) => (
          <ul className={css.toolAccess} aria-label={messages.servers.tools}>
            {list.map((item) => (
              <li key={item.name}>
                <ToolHeading server={server} access={item} tool={tools.data?.get(item.function)} />
                {canEdit && (
                  <ActionIcon
                    size="sm"
                    variant="subtle"
                    color="gray"
                    aria-label={messages.overrides.open(item.name)}
                    onClick={() => setOverridden(item.name)}
                  >
                    <Icon name="edit" size={15} />
                  </ActionIcon>
                )}
                {item.canApprove && (
                  <details className={css.definition}>
                    <summary>{messages.servers.reviewDefinition}</summary>
                    <CodeBlock label={item.name}>{item.definition}</CodeBlock>
                    <Button size="compact-xs" variant="default" onClick={() => approve(item.name, item.pin)}>
                      {messages.servers.treatAsReadOnly}
                    </Button>
                  </details>
                )}
              </li>
            ))}
          </ul>
        )}
      </QueryView>
      {overridden !== null && <OverrideDialog server={server} tool={overridden} onClose={() => setOverridden(null)} />}
    </>
  );
}

/** The name, the switch and the treatment of a tool. The name leads to its page. */
function ToolHeading({ server, access, tool }: { server: string; access: Access; tool: Tool | undefined }) {
  const messages = useMessages();
  const { name, problem, readOnly, reason } = access;
  const label = <ToolName name={`${server}.${access.function}`} title={tool?.displayName} />;
  return (
    <>
      {tool && <ToolSwitch group={{ main: tool, versions: [tool] }} disabled={problem !== ''} />}
      {tool ? <Link href={toolPath(tool)}>{label}</Link> : label}
      {access.function !== name && <span className={css.muted}>{name}</span>}
      <Tag tone={problem ? 'danger' : readOnly ? 'success' : 'warning'}>
        {problem ? messages.common.disabled : readOnly ? messages.servers.readOnly : messages.servers.makesChanges}
      </Tag>
      <span className={css.muted}>{problem || reason}</span>
    </>
  );
}
