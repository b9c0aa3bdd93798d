import { Button } from '@mantine/core';
import { useApproveTools, useToolAccess } from '~/api/servers';
import { CodeBlock } from '~/components/CodeBlock';
import { ErrorNotice } from '~/components/ErrorNotice';
import { notify } from '~/components/notifications';
import { QueryView } from '~/components/QueryView';
import { Tag } from '~/components/Tag';
import { useMessages } from '~/i18n';
import css from './servers.module.css';

/** The tools of a server: which run without approval, and why. */
export function ToolAccess({ server }: { server: string }) {
  const messages = useMessages();
  const access = useToolAccess(server);
  const approval = useApproveTools(server);
  const approve = (name: string, pin: string) =>
    approval.mutate({ [name]: pin }, { onSuccess: () => notify(messages.servers.approved(name)) });
  return (
    <>
      <h3>{messages.servers.tools}</h3>
      {approval.error ? <ErrorNotice error={approval.error} /> : null}
      <QueryView query={access}>
        {(tools) => (
          <ul className={css.toolAccess} aria-label={messages.servers.tools}>
            {tools.map(({ name, readOnly, reason, canApprove, definition, pin }) => (
              <li key={name}>
                <code>{name}</code>
                <Tag tone={readOnly ? 'success' : 'warning'}>
                  {readOnly ? messages.servers.readOnly : messages.servers.makesChanges}
                </Tag>
                <span className={css.muted}>{reason}</span>
                {canApprove && (
                  <details className={css.definition}>
                    <summary>{messages.servers.reviewDefinition}</summary>
                    <CodeBlock label={name}>{definition}</CodeBlock>
                    <Button size="compact-xs" variant="default" onClick={() => approve(name, pin)}>
                      {messages.servers.treatAsReadOnly}
                    </Button>
                  </details>
                )}
              </li>
            ))}
          </ul>
        )}
      </QueryView>
    </>
  );
}
