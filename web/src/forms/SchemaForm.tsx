// A form for the arguments of a tool, made from its schema.
import Form from '@rjsf/core/lib/components/Form.js';
import type { RegistryWidgetsType, TemplatesType } from '@rjsf/utils';
import { type ReactNode, useMemo } from 'react';
import { useWords } from '~/i18n';
import { simplify } from './simplify';
import { Field, Item, Items, Nothing, ObjectFields } from './templates';
import { validatorOf } from './validator';
import { Check, Choice, Input, JsonField, LongText } from './widgets';

export type Args = Record<string, unknown>;

interface Props {
  id: string;
  schema: object;
  value: Args;
  disabled?: boolean;
  onChange: (value: Args) => void;
  onSubmit: () => void;
  children?: ReactNode;
}

const widgets: RegistryWidgetsType = { TextWidget: Input, TextareaWidget: LongText, CheckboxWidget: Check, SelectWidget: Choice };
const templates: Partial<TemplatesType> = {
  BaseInputTemplate: Input as never,
  FieldTemplate: Field,
  ObjectFieldTemplate: ObjectFields,
  ArrayFieldTemplate: Items,
  ArrayFieldItemTemplate: Item,
  ErrorListTemplate: Nothing,
  FieldErrorTemplate: Nothing,
};
const fields = { json: JsonField };
const unfilled = { emptyObjectFields: 'skipDefaults', arrayMinItems: { populate: 'never' } } as const;

export default function SchemaForm({ id, schema, value, disabled, onChange, onSubmit, children }: Props) {
  const words = useWords();
  const plain = useMemo(() => simplify(schema), [schema]);
  const validator = useMemo(() => validatorOf(schema), [schema]);
  const isBlank = Object.keys(plain.schema.properties ?? {}).length === 0;
  return (
    <Form
      id={id}
      idPrefix={id}
      schema={plain.schema}
      uiSchema={plain.ui}
      validator={validator}
      formData={value}
      disabled={disabled}
      widgets={widgets}
      templates={templates}
      fields={fields}
      experimental_defaultFormStateBehavior={unfilled}
      noHtml5Validate
      showErrorList={false}
      focusOnFirstError
      onChange={({ formData }) => onChange((formData ?? {}) as Args)}
      onSubmit={onSubmit}
    >
      {isBlank ? <p>{words.tester.none}</p> : null}
      {children}
    </Form>
  );
}
