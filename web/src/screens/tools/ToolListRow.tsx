import { ErrorNotice } from '~/components/ErrorNotice';
import { useMessages } from '~/i18n';
import { BundleRow } from './BundleRow';
import { LoadMoreRow } from './LoadMoreRow';
import type { Row } from './rows';
import { ToolRow } from './ToolRow';
import css from './tools.module.css';

interface Props {
  row: Row;
  onTag: (tag: string) => void;
  onToggle: (bundleID: string) => void;
}

export function ToolListRow({ row, onTag, onToggle }: Props) {
  const messages = useMessages();
  switch (row.kind) {
    case 'bundle':
      return (
        <BundleRow
          bundle={row.bundle}
          loaded={row.loaded}
          isExpanded={row.isExpanded}
          onToggle={() => onToggle(row.bundle.id)}
        />
      );
    case 'tool':
      return <ToolRow group={row.group} bundle={row.bundle} onTag={onTag} />;
    case 'more':
      return <LoadMoreRow loadMore={row.loadMore} />;
    case 'error':
      return <ErrorNotice error={row.error} onRetry={row.retry} />;
    case 'empty':
      return <div className={css.message}>{messages.tools.emptyBundle}</div>;
  }
}
