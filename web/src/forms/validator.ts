// Validation of arguments against a JSON Schema. The validator interprets the schema: the content security policy
// forbids generated code.
import { type OutputUnit, type Schema, Validator } from '@cfworker/json-schema';
import { ErrorSchemaBuilder, type RJSFValidationError, type ValidationData, type ValidatorType } from '@rjsf/utils';
import { parseJsonPointer } from '~/api/url';

/** Keywords that only report that a nested value is invalid. The nested value has its own error. */
const CONTAINER_KEYWORDS = new Set([
  'properties',
  'items',
  'prefixItems',
  'allOf',
  '$ref',
  'additionalItems',
  'patternProperties',
  'if',
  'then',
  'else',
]);

export interface SchemaError {
  path: string[];
  message: string;
}

/** Return all errors of a value. */
export function findErrors(schema: object, value: unknown): SchemaError[] {
  try {
    const { errors } = new Validator(withoutPatterns(schema), '2020-12', false).validate(value);
    return errors.filter((error) => !CONTAINER_KEYWORDS.has(error.keyword)).map(toSchemaError);
  } catch {
    return []; // unsupported schema; the server validates the value anyway
  }
}

/** Remove regular expressions, which can take exponential time here. The server checks them in linear time. */
function withoutPatterns(schema: object): Schema {
  const isPattern = (key: string, value: unknown) =>
    key === 'patternProperties' || (key === 'pattern' && typeof value === 'string');
  const json = JSON.stringify(schema, (key, value: unknown) => (isPattern(key, value) ? undefined : value));
  return JSON.parse(json) as Schema;
}

function toSchemaError({ keyword, error, instanceLocation }: OutputUnit): SchemaError {
  const path = parseJsonPointer(instanceLocation);
  const missing = keyword === 'required' ? /"(.+)"/.exec(error)?.[1] : undefined;
  return missing === undefined ? { path, message: error } : { path: [...path, missing], message: 'is required' };
}

export function formatError({ path, message }: SchemaError): string {
  return `${path.join('.')} ${message}`.trim();
}

/** Create a form validator. It checks values against the tool's schema, not the simplified one of the form. */
export function createValidator(schema: object): ValidatorType {
  const validate = (value: unknown): ValidationData<unknown> => {
    const schemaErrors = findErrors(schema, value ?? {});
    const builder = new ErrorSchemaBuilder();
    for (const { path, message } of schemaErrors) builder.addErrors(message, path);
    const errors: RJSFValidationError[] = schemaErrors.map((error) => ({
      property: error.path.join('.'),
      message: error.message,
      stack: formatError(error),
    }));
    return { errors, errorSchema: builder.ErrorSchema };
  };
  return {
    validateFormData: (value) => validate(value) as ValidationData<never>,
    isValid: (subschema, value) => findErrors(subschema as object, value).length === 0,
    rawValidation: (_subschema, value) => ({ errors: validate(value).errors as never[] }),
  };
}
