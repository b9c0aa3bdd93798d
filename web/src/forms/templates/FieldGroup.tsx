import type { ReactNode } from 'react';
import css from '../forms.module.css';

interface Props {
  title: string;
  required?: boolean;
  hint?: ReactNode;
  children: ReactNode;
}

export function FieldGroup({ title, required, hint, children }: Props) {
  return (
    <fieldset className={css.group}>
      <legend>
        {title}
        {required && <span className={css.asterisk}> *</span>}
      </legend>
      {hint && <p className={css.hint}>{hint}</p>}
      {children}
    </fieldset>
  );
}
