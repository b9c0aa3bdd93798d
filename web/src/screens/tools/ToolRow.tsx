// One tool: what it is called, what it does, whether it can be called.
import { Switch } from '@mantine/core';
import { Link } from 'wouter';
import { type Bundle, type Tool, useSwitchTool } from '~/api/tools';
import { useWords } from '~/i18n';
import { Icon } from '~/parts/Icon';
import { tellFailure } from '~/parts/notify';
import { Tag, TagButton } from '~/parts/parts';
import { type Grouped, switched } from './rows';
import css from './tools.module.css';

/** Where a tool has its page. */
export const pageOf = (tool: Pick<Tool, 'bundleID' | 'slug'>) => `/tools/${tool.bundleID}/${encodeURIComponent(tool.slug)}`;

/** What stands for a version where there are none. */
const UNVERSIONED = 'current';

interface Props {
  grouped: Grouped;
  bundle?: Bundle;
  withBundle?: boolean;
  onTag: (tag: string) => void;
}

export function ToolRow({ grouped, bundle, withBundle, onTag }: Props) {
  const words = useWords();
  const { main, versions } = grouped;
  const switching = useSwitchTool();
  const isDead = bundle?.isEnabled === false;
  return (
    <div className={css.tool} data-off={!main.isEnabled || isDead || undefined}>
      <Health tool={main} />
      <Link href={pageOf(main)} className={css.toolLink}>
        <span className={css.toolName}>
          {withBundle && <span className={css.soft}>{main.bundleSlug} / </span>}
          {main.slug}
        </span>
        <span className={css.toolText}>{main.disabledReason || main.description || main.displayName}</span>
      </Link>
      <span className={css.wide}>
        {main.tags.slice(0, 3).map((tag) => (
          <TagButton key={tag} label={words.tools.onlyTag(tag)} onClick={() => onTag(tag)}>
            {tag}
          </TagButton>
        ))}
        {versions.length > 1 ? <Tag mood="accent">{words.tools.versions(versions.length)}</Tag> : main.version !== UNVERSIONED && <Tag>{main.version}</Tag>}
      </span>
      <Switch
        size="xs"
        aria-label={words.tools.switchTool(main.name)}
        checked={main.isEnabled}
        disabled={switching.isPending || isDead}
        onChange={(event) => switching.mutate({ versions: switched(grouped, event.currentTarget.checked), on: event.currentTarget.checked }, { onError: tellFailure })}
      />
      <Link href={pageOf(main)} className={css.chevron} aria-hidden tabIndex={-1}>
        <Icon name="right" size={16} />
      </Link>
    </div>
  );
}

function Health({ tool }: { tool: Tool }) {
  const words = useWords();
  const state = tool.disabledReason ? 'bad' : tool.isEnabled ? 'good' : 'off';
  const said = tool.disabledReason ? words.tool.unavailable : tool.isEnabled ? words.common.on : words.common.off;
  return <span className={css.dot} data-state={state} role="img" aria-label={said} title={tool.disabledReason ?? said} />;
}
