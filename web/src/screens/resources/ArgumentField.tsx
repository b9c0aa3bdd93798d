import { Autocomplete } from '@mantine/core';
import { useDebouncedValue } from '@mantine/hooks';
import { type Reference, useCompletion } from '~/api/contents';

const COMPLETION_DELAY_MS = 250;

interface Props {
  /** The prompt or template that the argument belongs to. */
  reference: Reference;
  name: string;
  description?: string;
  isRequired?: boolean;
  values: Record<string, string>;
  onChange: (values: Record<string, string>) => void;
}

/** A field for an argument, with the values that its server suggests. */
export function ArgumentField({ reference, name, description, isRequired = false, values, onChange }: Props) {
  const value = values[name] ?? '';
  const [debounced] = useDebouncedValue(values, COMPLETION_DELAY_MS);
  const { [name]: written = '', ...known } = debounced;
  const completion = useCompletion(reference, name, written, known);
  return (
    <Autocomplete
      label={name}
      description={description}
      required={isRequired}
      withAsterisk={isRequired}
      value={value}
      data={[...new Set(completion.data ?? [])]}
      filter={({ options }) => options}
      maxDropdownHeight={220}
      onChange={(text) => onChange({ ...values, [name]: text })}
    />
  );
}
