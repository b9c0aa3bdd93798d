import { Button } from '@mantine/core';
import { useDebouncedValue } from '@mantine/hooks';
import { useSearchParams } from 'wouter';
import { type AuditFilter, auditExportUrl, useAudit } from '~/api/audit';
import { EmptyState } from '~/components/EmptyState';
import { Icon } from '~/components/Icon';
import { MoreButton } from '~/components/MoreButton';
import { PageHeader } from '~/components/PageHeader';
import { QueryView } from '~/components/QueryView';
import { useMessages } from '~/i18n';
import { AuditFilters } from './AuditFilters';
import { AuditItem } from './AuditItem';
import css from './audit.module.css';
import { readFilter, writeFilter } from './filter';
import { useMemberNames } from './useMemberNames';

const FILTER_DELAY_MS = 200;
const FILE_NAME = 'audit.jsonl';

/** Who has changed what in the workspace, newest first. */
export default function Audit() {
  const messages = useMessages();
  const [params, setParams] = useSearchParams();
  const [search] = useDebouncedValue(params.toString(), FILTER_DELAY_MS);
  const filter = readFilter(params);
  const entries = useAudit(readFilter(new URLSearchParams(search)));
  const names = useMemberNames();
  const show = (changed: AuditFilter) => setParams(writeFilter(changed), { replace: true });
  return (
    <>
      <PageHeader title={messages.audit.title} lead={messages.audit.lead}>
        <Button
          component="a"
          href={auditExportUrl(filter)}
          download={FILE_NAME}
          variant="default"
          leftSection={<Icon name="download" size={16} />}
        >
          {messages.audit.export}
        </Button>
      </PageHeader>
      <AuditFilters filter={filter} onChange={show} />
      <QueryView query={entries}>
        {(found) =>
          found.length ? (
            <ul className={css.list} aria-label={messages.audit.title}>
              {found.map((entry) => (
                <AuditItem
                  key={entry.id}
                  entry={entry}
                  names={names}
                  onFilter={(changes) => show({ ...filter, ...changes })}
                />
              ))}
            </ul>
          ) : (
            <EmptyState title={messages.audit.emptyTitle} icon="audit">
              <p>{messages.audit.emptyHint}</p>
            </EmptyState>
          )
        }
      </QueryView>
      <MoreButton query={entries} label={messages.audit.older} />
    </>
  );
}
