// Other MCP servers: how they are, what of them waits, what they said.
import { Button, Collapse } from '@mantine/core';
import { useState } from 'react';
import { type Server, useProbe, useServerLog, useServers } from '~/api/system';
import { useWords } from '~/i18n';
import { Icon } from '~/parts/Icon';
import { Inline } from '~/parts/Markdown';
import { Card, Empty, Failed, Head, type Mood, Note, Shown, Tag } from '~/parts/parts';
import { HeldBack } from './HeldBack';
import css from './servers.module.css';

const MOODS: Record<string, Mood> = { started: 'good', known: 'accent', failed: 'bad' };

export default function Servers() {
  const words = useWords();
  const servers = useServers();
  return (
    <>
      <Head title={words.servers.title} lead={words.servers.lead} />
      <Shown asked={servers}>
        {(all) =>
          all.length ? (
            <div className={css.all}>
              {all.map((server) => (
                <One key={server.name} server={server} />
              ))}
            </div>
          ) : (
            <Empty title={words.servers.none} icon="servers">
              <p>
                <Inline text={words.servers.noneHint} />
              </p>
            </Empty>
          )
        }
      </Shown>
    </>
  );
}

function One({ server }: { server: Server }) {
  const words = useWords();
  const probing = useProbe();
  // What waits for a decision shows itself, until somebody folds it.
  const [chosen, choose] = useState<boolean | null>(null);
  const isOpen = chosen ?? server.heldBack > 0;
  return (
    <Card>
      <section aria-label={server.name}>
        <div className={css.head}>
          <h2>{server.name}</h2>
          <Tag mood={MOODS[server.state] ?? 'plain'}>{words.servers.state[server.state] ?? server.state}</Tag>
          <span className={css.soft}>{server.tools === null ? words.servers.unknownTools : words.servers.tools(server.tools)}</span>
          {server.heldBack > 0 && (
            <Tag mood="warn" icon="alert">
              {words.servers.heldBack(server.heldBack)}
            </Tag>
          )}
          <span className={css.spring} />
          <Button size="compact-sm" variant="default" disabled={server.state === 'off'} loading={probing.isPending} leftSection={<Icon name="refresh" size={15} />} onClick={() => probing.mutate(server.name)}>
            {words.servers.reconnect}
          </Button>
          <Button size="compact-sm" variant="subtle" aria-expanded={isOpen} rightSection={<Icon name={isOpen ? 'up' : 'down'} size={15} />} onClick={() => choose(!isOpen)}>
            {words.servers.details}
          </Button>
        </div>
        <code className={css.where}>{server.where}</code>
        {server.reason && <Note mood="bad">{server.reason}</Note>}
        {probing.error ? <Failed error={probing.error} /> : null}
        {probing.data && (
          <Note mood={probing.data.ok ? 'good' : 'bad'}>
            {probing.data.ok ? words.servers.connected(probing.data.tools ?? 0, probing.data.seconds) : `${words.servers.unreachable}: ${probing.data.reason}`}
          </Note>
        )}
        <Collapse expanded={isOpen}>{isOpen && <Details server={server} />}</Collapse>
      </section>
    </Card>
  );
}

function Details({ server }: { server: Server }) {
  const words = useWords();
  const log = useServerLog(server.name);
  return (
    <div className={css.details}>
      {server.heldBack > 0 && <HeldBack server={server} />}
      <h3>{words.servers.log}</h3>
      <Shown asked={log}>
        {(lines) =>
          lines.length ? (
            <div className={css.log} tabIndex={0} role="region" aria-label={`${words.servers.log}: ${server.name}`}>
              {lines.map((line, at) => (
                <div key={at} data-level={line.level}>
                  <time>{new Date(line.at).toLocaleTimeString()}</time> {line.message}
                </div>
              ))}
            </div>
          ) : (
            <p className={css.soft}>{words.servers.logNone}</p>
          )
        }
      </Shown>
    </div>
  );
}
