import { Button, Group } from '@mantine/core';
import { useDebouncedValue } from '@mantine/hooks';
import { type FormEvent, useCallback, useEffect, useState } from 'react';
import { type InputValues, type ServerUpdate, usePlanUpdate, useUpdateServer } from '~/api/registry';
import { ErrorNotice } from '~/components/ErrorNotice';
import { Notice } from '~/components/Notice';
import { useMessages } from '~/i18n';
import { InputFields } from './InputFields';
import { OfflineNotice } from './OfflineNotice';
import { PlanFacts } from './PlanFacts';
import { PlannedSettings } from './PlannedSettings';
import css from './registry.module.css';

const REPLAN_MS = 400;
const NO_VALUES: InputValues = {};

/** The difference between the installed and the latest version, with fields for new inputs. */
export function UpdateReview({ found, onUpdated }: { found: ServerUpdate; onUpdated: () => void }) {
  const messages = useMessages();
  const [values, setValues] = useState(NO_VALUES);
  const [debouncedValues] = useDebouncedValue(values, REPLAN_MS);
  const [shown, setShown] = useState(found);
  const planning = usePlanUpdate(found.name);
  const update = useUpdateServer(found.name);
  const { mutate } = planning;
  const review = useCallback((texts: InputValues) => mutate(texts, { onSuccess: setShown }), [mutate]);
  useEffect(() => {
    if (debouncedValues !== NO_VALUES) review(debouncedValues);
  }, [debouncedValues, review]);
  const isCurrent = planning.isIdle ? values === NO_VALUES : planning.isSuccess && planning.variables === values;
  const { plan } = shown;
  const apply = (event: FormEvent) => {
    event.preventDefault();
    if (!plan?.isComplete || !isCurrent || update.isPending) return;
    update.mutate({ values, planDigest: plan.planDigest }, { onSuccess: onUpdated, onError: () => review(values) });
  };
  if (!plan) return null;
  return (
    <form className={css.column} onSubmit={apply}>
      <OfflineNotice offline={plan.offline} />
      <p>{messages.registry.newerVersion(shown.installed, shown.latest)}</p>
      {shown.remark && <Notice tone="warning">{shown.remark}</Notice>}
      <PlanFacts plan={plan} />
      <InputFields
        inputs={plan.inputs.filter((input) => !input.isKnown)}
        problems={plan.problems}
        values={values}
        onChange={setValues}
      />
      <PlannedSettings plan={plan} installed={shown.command} />
      {planning.error ? <ErrorNotice error={planning.error} onRetry={() => review(values)} /> : null}
      {update.error ? <ErrorNotice error={update.error} /> : null}
      <p className={css.muted}>{messages.registry.updateHint}</p>
      <Group justify="flex-end">
        <Button type="submit" disabled={!plan.isComplete || !isCurrent} loading={update.isPending}>
          {messages.registry.update}
        </Button>
      </Group>
    </form>
  );
}
