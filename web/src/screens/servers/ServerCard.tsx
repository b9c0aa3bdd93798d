import { Button, Collapse } from '@mantine/core';
import { useState } from 'react';
import { type Server, useProbeServer } from '~/api/servers';
import { Card } from '~/components/Card';
import { ErrorNotice } from '~/components/ErrorNotice';
import { Icon } from '~/components/Icon';
import { Notice } from '~/components/Notice';
import { Tag } from '~/components/Tag';
import type { Tone } from '~/components/tone';
import { useMessages } from '~/i18n';
import { ServerDetails } from './ServerDetails';
import css from './servers.module.css';

const TONES: Record<string, Tone> = { connected: 'success', idle: 'accent', failed: 'danger' };

export function ServerCard({ server }: { server: Server }) {
  const messages = useMessages();
  const probe = useProbeServer();
  // Cards with quarantined tools are expanded until the user collapses them.
  const [expandedByUser, setExpandedByUser] = useState<boolean | null>(null);
  const isExpanded = expandedByUser ?? server.quarantined > 0;
  return (
    <Card>
      <section aria-label={server.name}>
        <div className={css.header}>
          <h2>{server.name}</h2>
          <Tag tone={TONES[server.state] ?? 'neutral'}>{messages.servers.state[server.state] ?? server.state}</Tag>
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
            onClick={() => probe.mutate(server.name)}
          >
            {messages.servers.connect}
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
        </div>
        <code className={css.endpoint}>{server.endpoint}</code>
        {server.reason && <Notice tone="danger">{server.reason}</Notice>}
        {probe.error ? <ErrorNotice error={probe.error} /> : null}
        {probe.data && (
          <Notice tone={probe.data.ok ? 'success' : 'danger'}>
            {probe.data.ok
              ? messages.servers.probeSucceeded(probe.data.tools ?? 0, probe.data.seconds)
              : messages.servers.probeFailed(probe.data.reason)}
          </Notice>
        )}
        <Collapse expanded={isExpanded}>{isExpanded && <ServerDetails server={server} />}</Collapse>
      </section>
    </Card>
  );
}
