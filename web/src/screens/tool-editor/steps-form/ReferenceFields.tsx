import { Select, TextInput } from '@mantine/core';
import { useMessages } from '~/i18n';
import type { Reference } from '../steps';
import { type Sources, sourceOptions } from './sources';
import css from './stepsForm.module.css';

interface Props {
  label: string;
  sources: Sources;
  /** Null if the value does not come from a source. */
  reference: Reference | null;
  /** The label of the choice that the value does not come from a source. Without it, a source is required. */
  noneLabel?: string;
  error?: string;
  onChange: (reference: Reference | null) => void;
}

const NONE = 'none';

/** Selects a parameter or an earlier result, and the part of it that is used. */
export function ReferenceFields({ label, sources, reference, noneLabel, error, onChange }: Props) {
  const { codeTools } = useMessages();
  const options = sourceOptions(sources, reference, codeTools);
  return (
    <>
      <Select
        label={label}
        className={css.source}
        data={noneLabel ? [{ value: NONE, label: noneLabel }, ...options] : options}
        value={reference?.source ?? (noneLabel ? NONE : null)}
        placeholder={codeTools.chooseSource}
        required={!noneLabel}
        allowDeselect={false}
        error={reference ? error : undefined}
        onChange={(source) =>
          onChange(source === null || source === NONE ? null : { source, path: reference?.path ?? '' })
        }
      />
      {reference && (
        <TextInput
          label={codeTools.path}
          className={css.path}
          placeholder="items[0].name"
          value={reference.path}
          onChange={(event) => onChange({ ...reference, path: event.currentTarget.value })}
        />
      )}
    </>
  );
}
