import { Button } from '@mantine/core';
import { Link } from 'wouter';
import { type Connection, type LoginOwner, useListTools } from '~/api/connections';
import { Card } from '~/components/Card';
import { ErrorNotice } from '~/components/ErrorNotice';
import { Facts } from '~/components/Facts';
import { Notice } from '~/components/Notice';
import { notify } from '~/components/notifications';
import { Tag } from '~/components/Tag';
import { useMessages } from '~/i18n';
import cards from '~/screens/members/members.module.css';
import css from './connections.module.css';
import { LoginButtons } from './LoginButtons';

/** Whose logins a server is called with. */
const OWNERS: Record<Connection['credentials'], LoginOwner[]> = {
  person: ['me'],
  workspace: ['workspace'],
  either: ['me', 'workspace'],
};

export function ConnectionCard({ connection, isMaker }: { connection: Connection; isMaker: boolean }) {
  const texts = useMessages().connections;
  const { server, credentials, canLogIn, missingSecrets } = connection;
  const listing = useListTools(server);
  const owners = canLogIn ? OWNERS[credentials] : [];
  const state = (isConnected: boolean) => (
    <Tag tone={isConnected ? 'success' : 'neutral'}>{isConnected ? texts.connected : texts.notConnected}</Tag>
  );
  const facts = owners.map((of): [string, React.ReactNode] =>
    of === 'me' ? [texts.mine, state(connection.mine)] : [texts.shared, state(connection.workspace)],
  );
  const mayList = isMaker && credentials !== 'workspace' && connection.mine;
  const listTools = () =>
    void listing.mutateAsync(undefined).then(
      () => notify(texts.listed(server)),
      () => {},
    );
  return (
    <li aria-label={server}>
      <Card>
        <div className={cards.header}>
          <h2>{server}</h2>
          <span className={cards.spacer} />
          <div className={css.actions}>
            {owners.map((of) => (
              <LoginButtons key={of} connection={connection} of={of} mayChange={of === 'me' || isMaker} />
            ))}
          </div>
        </div>
        <p className={css.text}>{canLogIn ? texts.credentials[credentials] : texts.ownSecrets}</p>
        {canLogIn ? (
          <Facts facts={facts} />
        ) : (
          <Facts facts={[[texts.secrets, <code key="secrets">{connection.secrets.join(', ')}</code>]]} />
        )}
        {missingSecrets.length > 0 && (
          <div className={css.part}>
            <Notice tone="warning" action={<Link href="/secrets">{texts.addSecrets}</Link>}>
              {texts.missing(missingSecrets.join(', '))}
            </Notice>
          </div>
        )}
        {!connection.toolsKnown && !mayList && credentials === 'person' && <p className={css.text}>{texts.unlisted}</p>}
        {mayList && (
          <div className={`${css.part} ${css.actions}`}>
            <Button size="compact-sm" variant="default" loading={listing.isPending} onClick={listTools}>
              {connection.toolsKnown ? texts.listToolsAgain : texts.listTools}
            </Button>
            <span className={cards.muted}>{texts.listToolsHint}</span>
          </div>
        )}
        {listing.error ? <ErrorNotice error={listing.error} /> : null}
      </Card>
    </li>
  );
}
