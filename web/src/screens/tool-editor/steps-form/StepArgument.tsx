import { lazy, Suspense, useId, useMemo } from 'react';
import { Loading } from '~/components/Loading';
import { useMessages } from '~/i18n';
import type { StepArg } from '../steps';
import { ReferenceFields } from './ReferenceFields';
import type { Sources } from './sources';
import css from './stepsForm.module.css';
import { argumentSchema } from './toolSchema';

const SchemaForm = lazy(() => import('~/forms/SchemaForm'));

interface Props {
  name: string;
  /** The schema of the tool's arguments. */
  schema: object;
  isRequired: boolean;
  description: string;
  arg: StepArg | undefined;
  sources: Sources;
  error: string | undefined;
  onChange: (arg: StepArg | undefined) => void;
}

/** One argument of a step: a value that is typed in, or one from a parameter or an earlier result. */
export function StepArgument({ name, schema, isRequired, description, arg, sources, error, onChange }: Props) {
  const { codeTools, common } = useMessages();
  const id = useId();
  const valueSchema = useMemo(() => argumentSchema(schema, name, common.value), [schema, name, common.value]);
  const reference = arg && 'reference' in arg ? arg.reference : null;
  const value = arg && 'value' in arg ? { [name]: arg.value } : {};
  return (
    <fieldset className={css.argument}>
      <legend>
        <code>{name}</code>
        {isRequired && <span className={css.asterisk}> *</span>}
        {description && <span className={css.hint}> {description}</span>}
      </legend>
      <ReferenceFields
        label={codeTools.comesFrom}
        sources={sources}
        reference={reference}
        noneLabel={codeTools.typedIn}
        error={error}
        onChange={(changed) => onChange(changed ? { reference: changed } : undefined)}
      />
      {!reference && (
        <div className={css.value}>
          <Suspense fallback={<Loading />}>
            <SchemaForm
              id={id}
              isNested
              schema={valueSchema}
              value={value}
              onChange={(changed) => onChange(changed[name] === undefined ? undefined : { value: changed[name] })}
              onSubmit={() => {}}
            />
          </Suspense>
        </div>
      )}
      {!reference && error && (
        <p className={css.error} role="alert">
          {error}
        </p>
      )}
    </fieldset>
  );
}
