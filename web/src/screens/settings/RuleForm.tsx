import { Button, Select, TextInput } from '@mantine/core';
import { type FormEvent, useState } from 'react';
import { errorMessage } from '~/api/problem';
import { useChangeLists } from '~/api/settings';
import { notify } from '~/components/notifications';
import { useMessages } from '~/i18n';
import { type RuleDecision, ruleKey } from './rules';
import css from './settings.module.css';

/** Adds a rule. One for the same pattern and clients is replaced. */
export function RuleForm({ profiles }: { profiles: string[] }) {
  const texts = useMessages().configuration;
  const addition = useChangeLists();
  const [pattern, setPattern] = useState('');
  const [decision, setDecision] = useState<RuleDecision>('deny');
  const [profile, setProfile] = useState('');
  const submit = (event: FormEvent) => {
    event.preventDefault();
    const item = pattern.trim();
    if (!item) return;
    const other = decision === 'allow' ? 'deny' : 'allow';
    const handleAdded = () => {
      setPattern('');
      notify(texts.ruleAdded(item));
    };
    const change = { item, add: ruleKey(decision, profile), remove: [ruleKey(other, profile)] };
    void addition.mutateAsync(change).then(handleAdded, () => {});
  };
  return (
    <form className={css.ruleForm} onSubmit={submit}>
      <TextInput
        label={texts.pattern}
        description={texts.patternHint}
        required
        spellCheck={false}
        error={addition.error ? errorMessage(addition.error) : undefined}
        value={pattern}
        onChange={(event) => setPattern(event.currentTarget.value)}
      />
      <Select
        label={texts.decision}
        allowDeselect={false}
        data={(['deny', 'allow'] as const).map((value) => ({ value, label: texts.decisions[value] }))}
        value={decision}
        onChange={(value) => setDecision(value as RuleDecision)}
      />
      <Select
        label={texts.appliesTo}
        allowDeselect={false}
        data={[
          { value: '', label: texts.everyCaller },
          ...profiles.map((name) => ({ value: name, label: texts.profileNamed(name) })),
        ]}
        value={profile}
        onChange={(value) => setProfile(value ?? '')}
      />
      <Button type="submit" loading={addition.isPending}>
        {texts.addRule}
      </Button>
    </form>
  );
}
