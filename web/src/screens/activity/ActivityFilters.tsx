import { Select, Switch, TextInput } from '@mantine/core';
import { type ActivityFilter, PERIODS, type Period } from '~/api/activity';
import { useMessages } from '~/i18n';
import css from './activity.module.css';
import { MAX_PATTERN_LENGTH, MAX_WORD_LENGTH } from './filter';

const INTERFACES = ['ask', 'cli', 'job', 'mcp', 'python', 'rest'];

interface Props {
  filter: ActivityFilter;
  onChange: (filter: ActivityFilter) => void;
}

export function ActivityFilters({ filter, onChange }: Props) {
  const { activity } = useMessages();
  const change = (changes: Partial<ActivityFilter>) => onChange({ ...filter, ...changes });
  const textField = (name: 'tool' | 'client' | 'profile', maxLength: number, placeholder?: string) => (
    <TextInput
      type="search"
      label={activity[name]}
      placeholder={placeholder ?? activity.any}
      maxLength={maxLength}
      value={filter[name]}
      onChange={({ currentTarget: { value } }) => change({ [name]: value })}
    />
  );
  return (
    <search className={css.filters} aria-label={activity.filters}>
      <div className={css.fields}>
        {textField('tool', MAX_PATTERN_LENGTH, activity.toolHint)}
        <Select
          label={activity.interface}
          placeholder={activity.any}
          clearable
          data={[...new Set([...INTERFACES, filter.interface])].filter(Boolean)}
          value={filter.interface || null}
          onChange={(value) => change({ interface: value ?? '' })}
        />
        {textField('client', MAX_WORD_LENGTH)}
        {textField('profile', MAX_WORD_LENGTH)}
        <Select
          label={activity.time}
          placeholder={activity.any}
          clearable
          data={PERIODS.map((value) => ({ value, label: activity.periods[value] }))}
          value={filter.period || null}
          onChange={(value) => change({ period: (value ?? '') as Period | '' })}
        />
      </div>
      <div className={css.switches}>
        <Switch
          label={activity.failedOnly}
          checked={filter.isFailedOnly}
          onChange={({ currentTarget: { checked } }) => change({ isFailedOnly: checked })}
        />
        <Switch
          label={activity.withNested}
          checked={filter.withNested}
          onChange={({ currentTarget: { checked } }) => change({ withNested: checked })}
        />
      </div>
    </search>
  );
}
