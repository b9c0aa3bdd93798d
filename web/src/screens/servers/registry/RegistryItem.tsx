import { Button } from '@mantine/core';
import type { RegistryEntry } from '~/api/registry';
import { Tag } from '~/components/Tag';
import { useMessages } from '~/i18n';
import css from './registry.module.css';

/** A search result. All of its texts were written by the publisher. */
export function RegistryItem({ entry, onChoose }: { entry: RegistryEntry; onChoose: () => void }) {
  const messages = useMessages();
  return (
    <li className={css.result}>
      <div className={css.resultHeader}>
        <h3 className={css.untrusted}>{entry.name}</h3>
        <span className={css.muted}>{entry.version}</span>
        {entry.kinds.map((kind) => (
          <Tag key={kind}>{kind}</Tag>
        ))}
        {entry.status !== 'active' && <Tag tone="warning">{entry.status}</Tag>}
      </div>
      <p className={css.muted}>{messages.registry.by(entry.publisher)}</p>
      <p className={css.untrusted}>{entry.description}</p>
      {entry.isInstallable ? (
        <Button
          size="compact-sm"
          variant="default"
          aria-label={`${messages.registry.review} ${entry.name}`}
          onClick={onChoose}
        >
          {messages.registry.review}
        </Button>
      ) : (
        <p className={`${css.muted} ${css.untrusted}`}>{messages.registry.notInstallable(entry.problem)}</p>
      )}
    </li>
  );
}
