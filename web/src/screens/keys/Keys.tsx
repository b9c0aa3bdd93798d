import { Button, Switch } from '@mantine/core';
import { useDisclosure } from '@mantine/hooks';
import { useState } from 'react';
import { useKeys } from '~/api/keys';
import { mayManage, useMe } from '~/api/members';
import { EmptyState } from '~/components/EmptyState';
import { Icon } from '~/components/Icon';
import { PageHeader } from '~/components/PageHeader';
import { QueryView } from '~/components/QueryView';
import { useMessages } from '~/i18n';
import cards from '~/screens/members/members.module.css';
import { KeyCard } from './KeyCard';
import css from './keys.module.css';
import { NewKeyDialog } from './NewKeyDialog';

/** The user's API keys; for owners, also those of other members. */
export default function Keys() {
  const messages = useMessages();
  const isOwner = mayManage(useMe().data);
  const [isSwitchedOn, setSwitchedOn] = useState(false);
  const [isCreating, dialog] = useDisclosure(false);
  const everyone = isOwner && isSwitchedOn;
  const query = useKeys(everyone);
  return (
    <>
      <PageHeader title={messages.keys.title} lead={messages.keys.lead}>
        {isOwner && (
          <Switch
            className={css.switch}
            label={messages.keys.everyone}
            checked={everyone}
            onChange={(event) => setSwitchedOn(event.currentTarget.checked)}
          />
        )}
        <Button onClick={dialog.open} leftSection={<Icon name="plus" size={16} />}>
          {messages.keys.create}
        </Button>
      </PageHeader>
      <QueryView query={query}>
        {(keys) =>
          keys.length ? (
            <ul className={cards.list} aria-label={messages.keys.title}>
              {keys.map((key) => (
                <KeyCard key={key.id} apiKey={key} withOwner={everyone} />
              ))}
            </ul>
          ) : (
            <EmptyState title={messages.keys.emptyTitle} icon="keys">
              <p>{messages.keys.emptyHint}</p>
            </EmptyState>
          )
        }
      </QueryView>
      {isCreating && <NewKeyDialog isOwner={isOwner} onClose={dialog.close} />}
    </>
  );
}
