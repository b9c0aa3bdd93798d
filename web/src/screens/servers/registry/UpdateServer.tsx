import { Button } from '@mantine/core';
import { useState } from 'react';
import { Problem } from '~/api/problem';
import { type ServerUpdate, usePlanUpdate } from '~/api/registry';
import { ErrorNotice } from '~/components/ErrorNotice';
import { Icon } from '~/components/Icon';
import { Notice } from '~/components/Notice';
import { notify } from '~/components/notifications';
import { useMessages } from '~/i18n';
import css from './registry.module.css';
import { UpdateReview } from './UpdateReview';

/** Look for a newer version of a server that was installed from the registry, and review it. */
export function UpdateServer({ server }: { server: string }) {
  const messages = useMessages();
  const check = usePlanUpdate(server);
  const [found, setFound] = useState<ServerUpdate | null>(null);
  const isForeign = check.error instanceof Problem && check.error.status === 404;
  const finish = (version: string) => {
    setFound(null);
    check.reset();
    notify(messages.registry.updated(server, version));
  };
  return (
    <div className={css.column}>
      <div>
        <Button
          size="compact-sm"
          variant="default"
          loading={check.isPending}
          leftSection={<Icon name="refresh" size={15} />}
          onClick={() => check.mutate({}, { onSuccess: setFound, onError: () => setFound(null) })}
        >
          {messages.registry.checkForUpdate}
        </Button>
      </div>
      {isForeign && <Notice>{messages.registry.notFromRegistry}</Notice>}
      {check.error && !isForeign ? <ErrorNotice error={check.error} /> : null}
      {found && !found.isNewer && <Notice tone="success">{messages.registry.upToDate(found.installed)}</Notice>}
      {found?.isNewer && <UpdateReview key={found.latest} found={found} onUpdated={() => finish(found.latest)} />}
    </div>
  );
}
