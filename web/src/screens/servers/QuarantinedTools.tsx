import { Button } from '@mantine/core';
import { type QuarantinedTool, useApproveTools, useQuarantine } from '~/api/servers';
import { ErrorNotice } from '~/components/ErrorNotice';
import { Notice } from '~/components/Notice';
import { notify } from '~/components/notifications';
import { QueryView } from '~/components/QueryView';
import { useMessages } from '~/i18n';
import { DiffView } from './DiffView';
import css from './servers.module.css';

export function QuarantinedTools({ server }: { server: string }) {
  const messages = useMessages();
  const quarantine = useQuarantine(server);
  const approval = useApproveTools(server);
  const approve = (tools: QuarantinedTool[]) => {
    const pins = Object.fromEntries(tools.map((tool) => [tool.name, tool.pin]));
    const names = Object.keys(pins).join(', ');
    approval.mutate(pins, { onSuccess: () => notify(messages.servers.approved(names)) });
  };
  return (
    <>
      <Notice tone="warning">{messages.servers.quarantineHint}</Notice>
      {approval.error ? <ErrorNotice error={approval.error} /> : null}
      <QueryView query={quarantine}>
        {(tools) => (
          <>
            {tools.map((tool) => (
              <article key={tool.name} className={css.quarantinedTool} aria-label={tool.name}>
                <div className={css.header}>
                  <h3>{tool.name}</h3>
                  <span className={css.muted}>{tool.reason}</span>
                  <span className={css.spacer} />
                  <Button size="compact-sm" loading={approval.isPending} onClick={() => approve([tool])}>
                    {messages.servers.approve}
                  </Button>
                </div>
                {tool.difference && <DiffView text={tool.difference} />}
              </article>
            ))}
            {tools.length > 1 && (
              <Button size="compact-sm" variant="default" onClick={() => approve(tools)}>
                {messages.servers.approveAll}
              </Button>
            )}
          </>
        )}
      </QueryView>
    </>
  );
}
