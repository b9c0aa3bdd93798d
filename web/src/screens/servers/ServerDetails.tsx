import type { Server } from '~/api/servers';
import { Instructions } from './Instructions';
import { QuarantinedTools } from './QuarantinedTools';
import { UpdateServer } from './registry/UpdateServer';
import { ServerLog } from './ServerLog';
import css from './servers.module.css';
import { ToolAccess } from './ToolAccess';

interface Props {
  server: Server;
  canEdit: boolean;
  /** Whether the server is being started or tested. */
  isBusy: boolean;
}

export function ServerDetails({ server, canEdit, isBusy }: Props) {
  return (
    <div className={css.details}>
      {server.quarantined > 0 && <QuarantinedTools server={server.name} />}
      <Instructions server={server.name} />
      {server.state !== 'disabled' && <ToolAccess server={server.name} canEdit={canEdit} />}
      {canEdit && <UpdateServer server={server.name} />}
      <ServerLog server={server.name} isLive={isBusy} />
    </div>
  );
}
