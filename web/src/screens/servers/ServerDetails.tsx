import { type Server, useServerLog } from '~/api/servers';
import { QueryView } from '~/components/QueryView';
import { useMessages } from '~/i18n';
import { QuarantinedTools } from './QuarantinedTools';
import css from './servers.module.css';
import { ToolAccess } from './ToolAccess';

export function ServerDetails({ server }: { server: Server }) {
  const messages = useMessages();
  const log = useServerLog(server.name);
  return (
    <div className={css.details}>
      {server.quarantined > 0 && <QuarantinedTools server={server.name} />}
      {server.state !== 'disabled' && <ToolAccess server={server.name} />}
      <h3>{messages.servers.log}</h3>
      <QueryView query={log}>
        {(lines) =>
          lines.length ? (
            <section className={css.log} tabIndex={0} aria-label={`${messages.servers.log}: ${server.name}`}>
              {lines.map((line, index) => (
                <div key={index} data-level={line.level}>
                  <time>{new Date(line.at).toLocaleTimeString()}</time> {line.message}
                </div>
              ))}
            </section>
          ) : (
            <p className={css.muted}>{messages.servers.emptyLog}</p>
          )
        }
      </QueryView>
    </div>
  );
}
