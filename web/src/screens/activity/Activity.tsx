import { Button } from '@mantine/core';
import { useDebouncedValue } from '@mantine/hooks';
import { useState } from 'react';
import { useSearchParams } from 'wouter';
import { useActivity } from '~/api/activity';
import { EmptyAction } from '~/components/EmptyAction';
import { EmptyState } from '~/components/EmptyState';
import { Icon } from '~/components/Icon';
import { InlineMarkdown } from '~/components/InlineMarkdown';
import { MoreButton } from '~/components/MoreButton';
import { PageHeader } from '~/components/PageHeader';
import { QueryView } from '~/components/QueryView';
import { useMessages } from '~/i18n';
import { ActivityFilters } from './ActivityFilters';
import { ActivityRow } from './ActivityRow';
import css from './activity.module.css';
import { readFilter, writeFilter } from './filter';

const FILTER_DELAY_MS = 200;

/** The finished calls of all interfaces, newest first. */
export default function Activity() {
  const messages = useMessages();
  const [params, setParams] = useSearchParams();
  const [isLive, setLive] = useState(true);
  const [search] = useDebouncedValue(params.toString(), FILTER_DELAY_MS);
  const list = useActivity(readFilter(new URLSearchParams(search)), isLive);
  return (
    <>
      <PageHeader title={messages.activity.title} lead={messages.activity.lead}>
        <Button
          variant="default"
          leftSection={<Icon name={isLive ? 'pause' : 'play'} size={15} />}
          onClick={() => setLive(!isLive)}
        >
          {isLive ? messages.activity.pause : messages.activity.resume}
        </Button>
      </PageHeader>
      <ActivityFilters
        filter={readFilter(params)}
        onChange={(filter) => setParams(writeFilter(filter), { replace: true })}
      />
      <QueryView query={list}>
        {({ records }) =>
          records.length ? (
            <ul className={css.list} aria-label={messages.activity.title}>
              {records.map((record) => (
                <ActivityRow key={record.id} record={record} />
              ))}
            </ul>
          ) : (
            <EmptyState title={messages.activity.emptyTitle} icon="activity">
              <p>
                {list.hasNextPage ? messages.activity.searchOlder : messages.activity.emptyHint}{' '}
                {params.size === 0 && !list.hasNextPage && <InlineMarkdown text={messages.emptyStates.activity} />}
              </p>
              {!list.hasNextPage && <EmptyAction href="/tools" label={messages.emptyStates.tryTool} />}
            </EmptyState>
          )
        }
      </QueryView>
      <MoreButton query={list} label={messages.activity.older} />
    </>
  );
}
