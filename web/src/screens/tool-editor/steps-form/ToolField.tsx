import { Autocomplete } from '@mantine/core';
import { useDebouncedValue } from '@mantine/hooks';
import { flattenPages, useToolSearch, useTools } from '~/api/tools';
import { useMessages } from '~/i18n';
import { useInitialFocus } from '../useInitialFocus';
import css from './stepsForm.module.css';

const DEBOUNCE_MS = 150;
const MAX_OPTIONS = 20;

interface Props {
  value: string;
  isNew: boolean;
  error: string | undefined;
  /** `isComplete` is whether it is the name of a tool, or the user leaves the field. */
  onChange: (name: string, isComplete: boolean) => void;
}

/** Searches for a tool and selects its name. */
export function ToolField({ value, isNew, error, onChange }: Props) {
  const { codeTools } = useMessages();
  const input = useInitialFocus(isNew);
  const [q] = useDebouncedValue(value.trim(), DEBOUNCE_MS);
  const found = useToolSearch(q, false);
  const all = useTools(false, q === '');
  const tools = flattenPages(q === '' ? all.data : found.data);
  const descriptions = new Map(tools.map(({ name, description }) => [name, description]));
  return (
    <Autocomplete
      ref={input}
      label={codeTools.tool}
      placeholder={codeTools.toolPlaceholder}
      required
      value={value}
      error={error}
      data={[...descriptions.keys()].slice(0, MAX_OPTIONS)}
      filter={({ options }) => options}
      maxDropdownHeight={300}
      renderOption={({ option }) => (
        <div className={css.option}>
          <code>{option.value}</code>
          <span>{descriptions.get(option.value)}</span>
        </div>
      )}
      onChange={(name) => onChange(name, descriptions.has(name))}
      onBlur={() => onChange(value, true)}
    />
  );
}
