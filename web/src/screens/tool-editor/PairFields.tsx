import { ActionIcon, Button, TextInput } from '@mantine/core';
import { Icon } from '~/components/Icon';
import { useMessages } from '~/i18n';
import type { Pair } from './recipe';
import css from './toolEditor.module.css';

interface Props {
  label: string;
  addLabel: string;
  pairs: Pair[];
  onChange: (pairs: Pair[]) => void;
}

/** A list of names and values, such as headers. */
export function PairFields({ label, addLabel, pairs, onChange }: Props) {
  const messages = useMessages();
  const update = (index: number, changes: Partial<Pair>) =>
    onChange(pairs.map((pair, at) => (at === index ? { ...pair, ...changes } : pair)));
  const remove = (index: number) => onChange(pairs.filter((_, at) => at !== index));
  return (
    <fieldset className={css.pairs}>
      <legend>{label}</legend>
      {pairs.map((pair, index) => (
        <div key={index} className={css.pair}>
          <TextInput
            aria-label={`${label}: ${messages.common.name} ${index + 1}`}
            placeholder={messages.common.name}
            value={pair.name}
            onChange={(event) => update(index, { name: event.currentTarget.value })}
          />
          <TextInput
            aria-label={`${label}: ${messages.common.value} ${index + 1}`}
            placeholder={messages.common.value}
            value={pair.value}
            onChange={(event) => update(index, { value: event.currentTarget.value })}
          />
          <ActionIcon
            variant="subtle"
            color="gray"
            aria-label={messages.common.removeItem(index + 1)}
            onClick={() => remove(index)}
          >
            <Icon name="close" size={16} />
          </ActionIcon>
        </div>
      ))}
      <Button
        size="compact-sm"
        variant="default"
        leftSection={<Icon name="plus" size={14} />}
        onClick={() => onChange([...pairs, { name: '', value: '' }])}
      >
        {addLabel}
      </Button>
    </fieldset>
  );
}
