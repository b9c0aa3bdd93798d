// Checks arguments against their schema without making code from it: the page's policy forbids that.
import { type OutputUnit, type Schema, Validator } from '@cfworker/json-schema';
import { pointerSteps } from '~/api/address';
import { ErrorSchemaBuilder, type RJSFValidationError, type ValidationData, type ValidatorType } from '@rjsf/utils';

/** Keywords that only say that something inside is wrong; that is told by itself. */
const OUTER = new Set(['properties', 'items', 'prefixItems', 'allOf', '$ref', 'additionalItems', 'patternProperties', 'if', 'then', 'else']);

/** What does not fit, and where. */
export interface Mistake {
  path: string[];
  message: string;
}

/** Everything in a value that its schema does not allow. */
export function mistakesIn(schema: object, value: unknown): Mistake[] {
  try {
    const { errors } = new Validator(withoutPatterns(schema), '2020-12', false).validate(value);
    return errors.filter((error) => !OUTER.has(error.keyword)).map(mistakeOf);
  } catch {
    return []; // a schema that this validator cannot read; the server has the last word anyway
  }
}

/** Patterns are left to the server, whose engine takes no longer than the text is long. */
function withoutPatterns(schema: object): Schema {
  const isPattern = (key: string, value: unknown) => key === 'patternProperties' || (key === 'pattern' && typeof value === 'string');
  return JSON.parse(JSON.stringify(schema, (key, value: unknown) => (isPattern(key, value) ? undefined : value))) as Schema;
}

function mistakeOf(error: OutputUnit): Mistake {
  const path = pointerSteps(error.instanceLocation);
  const missing = error.keyword === 'required' ? /"(.+)"/.exec(error.error)?.[1] : undefined;
  return missing === undefined ? { path, message: error.error } : { path: [...path, missing], message: 'is needed' };
}

/** A validator for a form; the schema that counts is the tool's own, not the form's. */
export function validatorOf(schema: object): ValidatorType {
  const check = (value: unknown): ValidationData<unknown> => {
    const mistakes = mistakesIn(schema, value ?? {});
    const told = new ErrorSchemaBuilder();
    for (const { path, message } of mistakes) told.addErrors(message, path);
    const errors: RJSFValidationError[] = mistakes.map(({ path, message }) => ({ property: path.join('.'), message, stack: `${path.join('.')} ${message}`.trim() }));
    return { errors, errorSchema: told.ErrorSchema };
  };
  return {
    validateFormData: (value) => check(value) as ValidationData<never>,
    isValid: (part, value) => mistakesIn(part as object, value).length === 0,
    rawValidation: (_part, value) => ({ errors: check(value).errors as never[] }),
  };
}
