import { useServerLog } from '~/api/servers';
import { QueryView } from '~/components/QueryView';
import { useMessages } from '~/i18n';
import css from './servers.module.css';

/** What OneTool and the program of a server logged. `isLive` follows it closely. */
export function ServerLog({ server, isLive }: { server: string; isLive: boolean }) {
  const messages = useMessages();
  const log = useServerLog(server, isLive);
  return (
    <>
      <h3>{messages.servers.log}</h3>
      <QueryView query={log}>
        {(lines) =>
          lines.length ? (
            <section className={css.log} tabIndex={0} aria-label={`${messages.servers.log}: ${server}`}>
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
    </>
  );
}
