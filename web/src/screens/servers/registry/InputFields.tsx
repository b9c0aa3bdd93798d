import type { InputProblem, InputValues, RegistryInput } from '~/api/registry';
import { Notice } from '~/components/Notice';
import { useMessages } from '~/i18n';
import { InputField } from './InputField';
import css from './registry.module.css';

interface Props {
  inputs: RegistryInput[];
  problems: InputProblem[];
  values: InputValues;
  onChange: (values: InputValues) => void;
}

/** The values that a server wants, each with its problem. */
export function InputFields({ inputs, problems, values, onChange }: Props) {
  const messages = useMessages();
  const errorOf = (name: string) => {
    const problem = problems.find((candidate) => candidate.name === name);
    return problem?.isMissing ? messages.registry.missing : problem?.reason;
  };
  const others = problems.filter(({ name }) => !inputs.some((input) => input.name === name));
  return (
    <>
      {inputs.map((input) => (
        <InputField
          key={input.name}
          input={input}
          texts={values[input.name] ?? []}
          error={errorOf(input.name)}
          onChange={(texts) => onChange({ ...values, [input.name]: texts })}
        />
      ))}
      {others.map(({ name, reason }) => (
        <Notice key={`${name} ${reason}`} tone="danger">
          <span className={css.untrusted}>{reason}</span>
        </Notice>
      ))}
    </>
  );
}
