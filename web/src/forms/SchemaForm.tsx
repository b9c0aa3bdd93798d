// A form for the arguments of a tool, made from its schema.
import Form from '@rjsf/core/lib/components/Form.js';
import type { RegistryWidgetsType, TemplatesType } from '@rjsf/utils';
import { type ReactNode, useMemo, useState } from 'react';
import { useWords } from '~/i18n';
import { Note } from '~/parts/parts';
import { hasField, simplify } from './simplify';
import { Field, Item, Items, Nothing, ObjectFields } from './templates';
import { mistakesIn, validatorOf } from './validator';
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
  const [untold, setUntold] = useState<string[]>([]);
  const submit = () => {
    setUntold([]);
    onSubmit();
  };
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
      onSubmit={submit}
      onError={() => setUntold(mistakesIn(schema, value).filter(({ path }) => !hasField(plain.schema, path)).map(({ path, message }) => `${path.join('.')} ${message}`.trim()))}
    >
      {isBlank ? <p>{words.tester.none}</p> : null}
      {untold.length > 0 && <Note mood="bad">{untold.join('; ')}</Note>}
      {children}
    </Form>
  );
}
