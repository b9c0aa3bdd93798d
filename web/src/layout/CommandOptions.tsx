import { useEffect, useRef } from 'react';
import type { Tool } from '~/api/tools';
import { Icon } from '~/components/Icon';
import { ToolName } from '~/components/ToolName';
import { useMessages } from '~/i18n';
import type { CommandItem } from './commandItems';
import css from './commands.module.css';

export interface OptionGroup {
  label: string;
  items: (CommandItem & { tool?: Tool })[];
}

interface Props {
  /** The start of the ids of the options. */
  id: string;
  groups: OptionGroup[];
  selected: CommandItem | undefined;
  onRun: (item: CommandItem) => void;
}

/** The options of the palette. The field keeps the focus and names the selected one. */
export function CommandOptions({ id, groups, selected, onRun }: Props) {
  const { commands } = useMessages();
  const list = useRef<HTMLDivElement>(null);
  // biome-ignore lint/correctness/useExhaustiveDependencies: another option was selected.
  useEffect(() => {
    list.current?.querySelector('[aria-selected="true"]')?.scrollIntoView({ block: 'nearest' });
  }, [selected?.id]);
  return (
    <div ref={list} id={`${id}-list`} role="listbox" aria-label={commands.title} className={css.list}>
      {groups.map(
        ({ label, items }) =>
          items.length > 0 && (
            // biome-ignore lint/a11y/useSemanticElements: a group of options, not of form fields.
            <div key={label} role="group" aria-label={label}>
              <div className={css.group} aria-hidden="true">
                {label}
              </div>
              {items.map((item) => (
                // biome-ignore lint/a11y/useKeyWithClickEvents: the field handles the keys.
                <div
                  key={item.id}
                  id={`${id}-${item.id}`}
                  role="option"
                  tabIndex={-1}
                  aria-selected={item.id === selected?.id}
                  className={css.option}
                  onMouseDown={(event) => event.preventDefault()}
                  onClick={() => onRun(item)}
                >
                  <Icon name={item.icon} size={17} />
                  {item.tool ? <ToolName name={item.tool.name} title={item.tool.displayName} /> : item.label}
                </div>
              ))}
            </div>
          ),
      )}
    </div>
  );
}
