import { Link } from 'wouter';
import type { Bundle } from '~/api/tools';
import { Icon } from '~/components/Icon';
import { Tag } from '~/components/Tag';
import { TagButton } from '~/components/TagButton';
import { ToolName } from '~/components/ToolName';
import { useMessages } from '~/i18n';
import { toolPath } from './paths';
import type { ToolGroup } from './rows';
import { StatusDot } from './StatusDot';
import { ToolSwitch } from './ToolSwitch';
import css from './tools.module.css';

/** The version label of tools that have no versions. */
const UNVERSIONED = 'current';
const MAX_TAGS = 3;

interface Props {
  group: ToolGroup;
  bundle?: Bundle;
  onTag: (tag: string) => void;
}

export function ToolRow({ group, bundle, onTag }: Props) {
  const messages = useMessages();
  const { main, versions } = group;
  const isBundleDisabled = bundle?.isEnabled === false;
  return (
    <div className={css.tool} data-disabled={!main.isEnabled || isBundleDisabled || undefined}>
      <StatusDot tool={main} />
      <Link href={toolPath(main)} className={css.toolLink}>
        <ToolName name={main.name} title={main.displayName} className={css.toolName} />
        <span className={css.toolDescription}>{main.disabledReason || main.description}</span>
      </Link>
      <span className={css.tags}>
        {main.tags.slice(0, MAX_TAGS).map((tag) => (
          <TagButton key={tag} label={messages.tools.filterByTag(tag)} onClick={() => onTag(tag)}>
            {tag}
          </TagButton>
        ))}
        {versions.length > 1 ? (
          <Tag tone="accent">{messages.tools.versionCount(versions.length)}</Tag>
        ) : (
          main.version !== UNVERSIONED && <Tag>{main.version}</Tag>
        )}
      </span>
      <ToolSwitch group={group} disabled={isBundleDisabled} />
      <Link href={toolPath(main)} className={css.chevron} aria-hidden tabIndex={-1}>
        <Icon name="right" size={16} />
      </Link>
    </div>
  );
}
