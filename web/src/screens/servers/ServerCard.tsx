import { Button, Collapse } from '@mantine/core';
import { useState } from 'react';
import { type Server, useProbeServer } from '~/api/servers';
import { Card } from '~/components/Card';
import { ErrorNotice } from '~/components/ErrorNotice';
import { Icon } from '~/components/Icon';
import { Notice } from '~/components/Notice';
import { Tag } from '~/components/Tag';
import { useMessages } from '~/i18n';
import { ProbeResult } from './ProbeResult';
import { ServerActions } from './ServerActions';
import { ServerDetails } from './ServerDetails';
import { ServerLogin } from './ServerLogin';
import css from './servers.module.css';
import { STATE_TONES } from './stateTones';

interface Props {
  server: Server;
  canEdit: boolean;
}

export function ServerCard({ server, canEdit }: Props) {
  const messages = useMessages();
  const probe = useProbeServer();
  // Cards with quarantined tools are expanded until the user collapses them. A test shows the log and the tools.
  const [expandedByUser, setExpandedByUser] = useState<boolean | null>(null);
  const isBusy = probe.isPending || server.state === 'starting';
  const isExpanded = expandedByUser ?? server.quarantined > 0;
  const test = () => {
    setExpandedByUser(true);
    probe.mutate(server.name);
  };
  return (
    <Card>
      <section aria-label={server.name}>
        <div className={css.header}>
          <h2>{server.name}</h2>
          <Tag tone={STATE_TONES[server.state]}>{messages.servers.state[server.state]}</Tag>
          <span className={css.muted}>
            {server.tools === null ? messages.servers.unknownTools : messages.servers.toolCount(server.tools)}
          </span>
          {server.quarantined > 0 && (
            <Tag tone="warning" icon="alert">
              {messages.servers.quarantined(server.quarantined)}
            </Tag>
          )}
          <span className={css.spacer} />
          <Button
            size="compact-sm"
            variant="default"
            disabled={server.state === 'disabled'}
            loading={probe.isPending}
            leftSection={<Icon name="refresh" size={15} />}
            onClick={test}
          >
            {messages.servers.test}
          </Button>
          <Button
            size="compact-sm"
            variant="subtle"
            aria-expanded={isExpanded}
            rightSection={<Icon name={isExpanded ? 'up' : 'down'} size={15} />}
            onClick={() => setExpandedByUser(!isExpanded)}
          >
            {messages.servers.details}
          </Button>
          {canEdit && <ServerActions server={server} />}
        </div>
        <code className={css.endpoint}>{server.endpoint}</code>
        {server.sandbox && <p className={css.muted}>{messages.servers.sandbox(server.sandbox)}</p>}
        {server.reason && <Notice tone={server.state === 'starting' ? 'neutral' : 'danger'}>{server.reason}</Notice>}
        {canEdit && server.canLogIn && <ServerLogin name={server.name} />}
        {probe.error ? <ErrorNotice error={probe.error} /> : null}
        {probe.data && <ProbeResult result={probe.data} />}
        <Collapse expanded={isExpanded}>
          {isExpanded && <ServerDetails server={server} canEdit={canEdit} isBusy={isBusy} />}
        </Collapse>
      </section>
    </Card>
  );
}
