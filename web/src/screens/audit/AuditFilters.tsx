import { NativeSelect, TextInput } from '@mantine/core';
import type { AuditFilter } from '~/api/audit';
import { useMessages } from '~/i18n';
import { actionChoices } from './actions';
import css from './audit.module.css';
import { MAX_WORD_LENGTH } from './filter';

interface Props {
  filter: AuditFilter;
  onChange: (filter: AuditFilter) => void;
}

export function AuditFilters({ filter, onChange }: Props) {
  const messages = useMessages();
  const texts = messages.audit;
  const change = (changes: Partial<AuditFilter>) => onChange({ ...filter, ...changes });
  const word = (name: 'actor' | 'target') => (
    <TextInput
      type="search"
      label={texts[name]}
      placeholder={texts.idHint}
      maxLength={MAX_WORD_LENGTH}
      value={filter[name]}
      onChange={({ currentTarget: { value } }) => change({ [name]: value })}
    />
  );
  const time = (name: 'since' | 'until') => (
    <TextInput
      type="datetime-local"
      label={texts[name]}
      value={filter[name]}
      onChange={({ currentTarget: { value } }) => change({ [name]: value })}
    />
  );
  return (
    <search className={css.filters} aria-label={texts.filters}>
      {word('actor')}
      <NativeSelect
        label={texts.action}
        data={[{ value: '', label: messages.activity.any }, ...actionChoices(messages, filter.action)]}
        value={filter.action}
        onChange={({ currentTarget: { value } }) => change({ action: value })}
      />
      {word('target')}
      {time('since')}
      {time('until')}
    </search>
  );
}
