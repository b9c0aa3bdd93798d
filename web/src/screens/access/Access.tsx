import { TextInput } from '@mantine/core';
import { useDebouncedValue } from '@mantine/hooks';
import { useSearchParams } from 'wouter';
import { useAccess } from '~/api/access';
import { EmptyState } from '~/components/EmptyState';
import { Icon } from '~/components/Icon';
import { MoreButton } from '~/components/MoreButton';
import { PageHeader } from '~/components/PageHeader';
import { QueryView } from '~/components/QueryView';
import { useMessages } from '~/i18n';
import { AccessTable } from './AccessTable';

const SEARCH_DELAY_MS = 200;
/** The longest text that the server accepts. */
const MAX_QUERY_LENGTH = 300;

/** What each kind of caller may do with each tool. */
export default function Access() {
  const messages = useMessages();
  const [params, setParams] = useSearchParams();
  const text = (params.get('q') ?? '').slice(0, MAX_QUERY_LENGTH);
  const [query] = useDebouncedValue(text.trim(), SEARCH_DELAY_MS);
  const access = useAccess(query);
  return (
    <>
      <PageHeader title={messages.access.title} lead={messages.access.lead} />
      <TextInput
        mb="md"
        type="search"
        maxLength={MAX_QUERY_LENGTH}
        aria-label={messages.access.search}
        placeholder={messages.access.search}
        leftSection={<Icon name="search" size={16} />}
        value={text}
        onChange={({ currentTarget: { value } }) => setParams(value ? { q: value } : {}, { replace: true })}
      />
      <QueryView query={access}>
        {(tools) => (tools.length ? <AccessTable tools={tools} /> : <EmptyState title={messages.access.empty} />)}
      </QueryView>
      <MoreButton query={access} />
    </>
  );
}
