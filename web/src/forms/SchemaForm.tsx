import Form from '@rjsf/core/lib/components/Form.js';
import type { RegistryWidgetsType, TemplatesType } from '@rjsf/utils';
import { useMemo, useState } from 'react';
import { Notice } from '~/components/Notice';
import { useMessages } from '~/i18n';
import { hasField, simplifySchema } from './simplifySchema';
import { ArrayItemTemplate } from './templates/ArrayItemTemplate';
import { ArrayTemplate } from './templates/ArrayTemplate';
import { FieldTemplate } from './templates/FieldTemplate';
import { ObjectTemplate } from './templates/ObjectTemplate';
import { createValidator, findErrors, formatError } from './validator';
import { CheckboxWidget } from './widgets/CheckboxWidget';
import { JsonField } from './widgets/JsonField';
import { SelectWidget } from './widgets/SelectWidget';
import { TextareaWidget } from './widgets/TextareaWidget';
import { TextWidget } from './widgets/TextWidget';

export type Args = Record<string, unknown>;

interface Props {
  id: string;
  schema: object;
  value: Args;
  disabled?: boolean;
  /** Whether the fields are part of another form, which submits them. */
  isNested?: boolean;
  /** Shown if there are no fields. Default: that the tool takes no arguments. */
  emptyText?: string;
  onChange: (value: Args) => void;
  onSubmit: () => void;
}

const renderNothing = () => null;
const widgets: RegistryWidgetsType = { TextWidget, TextareaWidget, CheckboxWidget, SelectWidget };
const templates: Partial<TemplatesType> = {
  BaseInputTemplate: TextWidget as never,
  FieldTemplate,
  ObjectFieldTemplate: ObjectTemplate,
  ArrayFieldTemplate: ArrayTemplate,
  ArrayFieldItemTemplate: ArrayItemTemplate,
  ErrorListTemplate: renderNothing,
  FieldErrorTemplate: renderNothing,
};
const fields = { json: JsonField };
const noDefaults = { emptyObjectFields: 'skipDefaults', arrayMinItems: { populate: 'never' } } as const;

/** A form for the arguments of a tool or the answer to a question, generated from its JSON Schema. */
export default function SchemaForm({ id, schema, value, disabled, isNested, emptyText, onChange, onSubmit }: Props) {
  const messages = useMessages();
  const form = useMemo(() => simplifySchema(schema), [schema]);
  const validator = useMemo(() => createValidator(schema), [schema]);
  /** Errors of values that have no field in the form. */
  const [otherErrors, setOtherErrors] = useState<string[]>([]);
  const handleSubmit = () => {
    setOtherErrors([]);
    onSubmit();
  };
  const handleError = () => {
    const errors = findErrors(schema, value).filter(({ path }) => !hasField(form.schema, path));
    setOtherErrors(errors.map(formatError));
  };
  const isEmpty = Object.keys(form.schema.properties ?? {}).length === 0;
  return (
    <Form
      id={id}
      tagName={isNested ? 'div' : 'form'}
      idPrefix={id}
      schema={form.schema}
      uiSchema={form.uiSchema}
      validator={validator}
      formData={value}
      disabled={disabled}
      widgets={widgets}
      templates={templates}
      fields={fields}
      experimental_defaultFormStateBehavior={noDefaults}
      noHtml5Validate
      showErrorList={false}
      focusOnFirstError
      onChange={({ formData }) => onChange((formData ?? {}) as Args)}
      onSubmit={handleSubmit}
      onError={handleError}
    >
      {isEmpty ? <p>{emptyText ?? messages.tester.noArgs}</p> : null}
      {otherErrors.length > 0 && <Notice tone="danger">{otherErrors.join('; ')}</Notice>}
    </Form>
  );
}
