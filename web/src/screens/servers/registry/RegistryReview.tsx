import { Button, Group, Select, TextInput } from '@mantine/core';
import { useDebouncedValue } from '@mantine/hooks';
import { type FormEvent, useCallback, useEffect, useState } from 'react';
import {
  type InputValues,
  type PlanBody,
  type RegistryEntry,
  type RegistryPlan,
  useInstallServer,
  usePlanServer,
} from '~/api/registry';
import { ErrorNotice } from '~/components/ErrorNotice';
import { Icon } from '~/components/Icon';
import { Loading } from '~/components/Loading';
import { useMessages } from '~/i18n';
import { InputFields } from './InputFields';
import { OfflineNotice } from './OfflineNotice';
import { PlanFacts } from './PlanFacts';
import { PlannedSettings } from './PlannedSettings';
import css from './registry.module.css';

const KINDS = ['npm', 'pypi', 'oci', 'remote'] as const;
const REPLAN_MS = 400;

interface Props {
  entry: RegistryEntry;
  onBack: () => void;
  onInstalled: (name: string) => void;
}

/** What would be installed. A change of the form is planned again before it can be installed. */
export function RegistryReview({ entry, onBack, onInstalled }: Props) {
  const messages = useMessages();
  const [draft, setDraft] = useState<PlanBody>({ name: entry.name, version: entry.version, values: {} });
  const [debouncedDraft] = useDebouncedValue(draft, REPLAN_MS);
  const [plan, setPlan] = useState<RegistryPlan | null>(null);
  const planning = usePlanServer();
  const installation = useInstallServer();
  const { mutate } = planning;
  const review = useCallback((body: PlanBody) => mutate(body, { onSuccess: setPlan }), [mutate]);
  useEffect(() => review(debouncedDraft), [debouncedDraft, review]);
  const isCurrent = planning.isSuccess && planning.variables === draft;
  const kinds = KINDS.filter((kind) => entry.kinds.includes(kind));
  const change = (changes: Partial<PlanBody>) => setDraft((current) => ({ ...current, ...changes }));
  const install = (event: FormEvent) => {
    event.preventDefault();
    if (!plan?.isComplete || !isCurrent || installation.isPending) return;
    installation.mutate(
      { ...draft, planDigest: plan.planDigest },
      { onSuccess: ({ name }) => onInstalled(name), onError: () => review(draft) },
    );
  };
  return (
    <form className={css.column} onSubmit={install}>
      <div>
        <Button size="compact-sm" variant="subtle" leftSection={<Icon name="left" size={15} />} onClick={onBack}>
          {messages.registry.back}
        </Button>
      </div>
      {planning.error ? <ErrorNotice error={planning.error} onRetry={() => review(draft)} /> : null}
      {!plan && !planning.error && <Loading />}
      {plan && (
        <>
          <OfflineNotice offline={plan.offline} />
          <PlanFacts plan={plan} />
          <TextInput
            label={messages.registry.serverName}
            description={messages.registry.serverNameHint}
            value={draft.as ?? plan.name}
            error={plan.nameProblem || undefined}
            onChange={(event) => change({ as: event.currentTarget.value })}
          />
          {kinds.length > 1 && (
            <Select
              label={messages.registry.kind}
              data={kinds}
              value={plan.kind}
              allowDeselect={false}
              onChange={(kind) => change({ kind: kind as PlanBody['kind'] })}
            />
          )}
          <InputFields
            inputs={plan.inputs}
            problems={plan.problems}
            values={draft.values as InputValues}
            onChange={(values) => change({ values })}
          />
          <PlannedSettings plan={plan} />
        </>
      )}
      {installation.error ? <ErrorNotice error={installation.error} /> : null}
      <p className={css.muted}>{messages.registry.nothingStarts}</p>
      <Group justify="flex-end">
        <Button type="submit" disabled={!plan?.isComplete || !isCurrent} loading={installation.isPending}>
          {messages.registry.install}
        </Button>
      </Group>
    </form>
  );
}
