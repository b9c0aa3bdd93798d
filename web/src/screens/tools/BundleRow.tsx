import { Switch } from '@mantine/core';
import { type Bundle, useToggleBundle } from '~/api/tools';
import { Icon } from '~/components/Icon';
import { notifyError } from '~/components/notifications';
import { Tag } from '~/components/Tag';
import { useMessages } from '~/i18n';
import { BundleActions } from './BundleActions';
import { groupVersions, type LoadedBundle } from './rows';
import css from './tools.module.css';

interface Props {
  bundle: Bundle;
  loaded: LoadedBundle | undefined;
  isExpanded: boolean;
  onToggle: () => void;
}

export function BundleRow({ bundle, loaded, isExpanded, onToggle }: Props) {
  const messages = useMessages();
  const toggle = useToggleBundle();
  const name = bundle.displayName || bundle.slug;
  const toolCount = loaded ? groupVersions(loaded.tools).length : 0;
  const countLabel = loaded?.hasMore ? `${toolCount}+` : messages.tools.toolCount(toolCount);
  return (
    <div className={css.bundle} data-disabled={!bundle.isEnabled || undefined}>
      <button
        type="button"
        className={css.expander}
        aria-expanded={isExpanded}
        aria-label={isExpanded ? messages.tools.collapseBundle(name) : messages.tools.expandBundle(name)}
        onClick={onToggle}
      >
        <Icon name={isExpanded ? 'down' : 'right'} size={16} />
      </button>
      <div className={css.bundleName}>
        <h2>{name}</h2>
        {bundle.description && <span className={css.muted}>{bundle.description}</span>}
      </div>
      {isExpanded && toolCount > 0 && <span className={css.count}>{countLabel}</span>}
      <span className={css.tags}>
        <Tag icon={bundle.isBuiltIn ? 'lock' : undefined}>{messages.tools.origin[bundle.origin] ?? bundle.origin}</Tag>
      </span>
      <Switch
        aria-label={messages.tools.toggleBundle(name)}
        checked={bundle.isEnabled}
        disabled={toggle.isPending}
        onChange={(event) =>
          toggle.mutate({ id: bundle.id, isEnabled: event.currentTarget.checked }, { onError: notifyError })
        }
      />
      {bundle.origin === 'bundle' ? <BundleActions bundle={bundle} name={name} /> : <span className={css.noActions} />}
    </div>
  );
}
