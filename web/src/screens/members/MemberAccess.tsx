import { NativeSelect, TextInput } from '@mantine/core';
import { useDebouncedValue } from '@mantine/hooks';
import { useParams, useSearchParams } from 'wouter';
import { useAccess } from '~/api/access';
import { mayManage, useMe, useMembers } from '~/api/members';
import { decodeSegment } from '~/api/url';
import { BackLink } from '~/components/BackLink';
import { EmptyState } from '~/components/EmptyState';
import { Icon } from '~/components/Icon';
import { MoreButton } from '~/components/MoreButton';
import { PageHeader } from '~/components/PageHeader';
import { QueryView } from '~/components/QueryView';
import { useMessages } from '~/i18n';
import { MemberDecision } from './MemberDecision';
import css from './memberAccess.module.css';
import { callerKey, memberCallerLabel } from './memberCaller';

const SEARCH_DELAY_MS = 200;
/** The longest text that the server accepts. */
const MAX_QUERY_LENGTH = 300;
const DEFAULT_CALLER = 'mcp';

/** What a person or service may call, and why. */
export default function MemberAccess() {
  const messages = useMessages();
  const id = decodeSegment(useParams().id ?? '');
  const [params, setParams] = useSearchParams();
  const text = (params.get('q') ?? '').slice(0, MAX_QUERY_LENGTH);
  const caller = params.get('caller') ?? DEFAULT_CALLER;
  const [query] = useDebouncedValue(text.trim(), SEARCH_DELAY_MS);
  const access = useAccess(query, id);
  const members = useMembers(mayManage(useMe().data)).data ?? [];
  const name = members.find((member) => member.id === id)?.name || id;
  const change = (key: string, value: string) => setParams((old) => withParam(old, key, value), { replace: true });
  const callers = access.data?.[0]?.decisions ?? [];
  return (
    <>
      <BackLink href="/members" label={messages.members.title} />
      <PageHeader title={messages.memberAccess.title(name)} lead={messages.memberAccess.lead} />
      <search className={css.filters}>
        <TextInput
          type="search"
          maxLength={MAX_QUERY_LENGTH}
          label={messages.access.search}
          leftSection={<Icon name="search" size={16} />}
          value={text}
          onChange={({ currentTarget: { value } }) => change('q', value)}
        />
        <NativeSelect
          label={messages.memberAccess.caller}
          data={callers.map((decision) => ({
            value: callerKey(decision),
            label: memberCallerLabel(messages, decision),
          }))}
          disabled={callers.length === 0}
          value={caller}
          onChange={({ currentTarget: { value } }) => change('caller', value)}
        />
      </search>
      <QueryView query={access}>
        {(tools) =>
          tools.length ? (
            <ul className={css.list} aria-label={messages.memberAccess.title(name)}>
              {tools.map((tool) => (
                <MemberDecision key={tool.name} tool={tool} caller={caller} />
              ))}
            </ul>
          ) : (
            <EmptyState title={messages.access.empty} />
          )
        }
      </QueryView>
      <MoreButton query={access} />
    </>
  );
}

function withParam(params: URLSearchParams, key: string, value: string): URLSearchParams {
  const changed = new URLSearchParams(params);
  if (value) changed.set(key, value);
  else changed.delete(key);
  return changed;
}
