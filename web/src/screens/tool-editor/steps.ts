// The steps of a tool as the form describes them, and their conversion from and to a definition.
import type { CodeStep, Condition, StepsImpl, StepValue } from '~/api/code';
import { parseJson, parseJsonOrText, stringify } from '~/api/json';
import { nextId, type Parameter } from './parameters';

/** A value from a parameter or an earlier step, and the part of it that is used. */
export interface Reference {
  /** The id of the parameter or step; as written if there is none. */
  source: string;
  /** Fields and indexes, such as `items[0].name`. */
  path: string;
}

export type StepArg = { value: unknown } | { reference: Reference };

export interface StepCondition {
  reference: Reference;
  is: Condition['is'];
  /** JSON, or any other text. */
  valueText: string;
}

export interface StepDraft {
  id: string;
  name: string;
  tool: string;
  args: Record<string, StepArg>;
  when: StepCondition | null;
}

export const CONDITIONS: Condition['is'][] = ['present', 'empty', 'equals', 'not_equals'];

/** Return whether a condition compares with a value. */
export const comparesValue = (is: Condition['is']) => is === 'equals' || is === 'not_equals';

export const newStep = (): StepDraft => ({ id: nextId(), name: '', tool: '', args: {}, when: null });

/** The names of parameters and steps by their ids, as references write them. */
type Names = Map<string, string>;

function sourceNames(parameters: Parameter[], steps: StepDraft[]): Names {
  return new Map([
    ...parameters.map(({ id, name }) => [id, `args.${name.trim()}`] as const),
    ...steps.map(({ id, name }) => [id, name.trim()] as const),
  ]);
}

const SOURCE = /^(args\.[^.[\]]+|[^.[\]]+)\.?(.*)$/s;

function readReference(text: string, names: Names): Reference {
  const [, name = text, path = ''] = SOURCE.exec(text) ?? [];
  const source = [...names].find(([, known]) => known === name)?.[0];
  return source === undefined ? { source: name, path } : { source, path };
}

function formatReference({ source, path }: Reference, names: Names): string {
  const name = names.get(source) ?? source;
  const rest = path.trim();
  if (rest === '') return name;
  return rest.startsWith('[') || rest.startsWith('.') ? name + rest : `${name}.${rest}`;
}

/** Convert steps to their definition. `result` is what the tool returns; null for the result of the last step. */
export function toCodeImpl(drafts: StepDraft[], parameters: Parameter[], result: Reference | null): StepsImpl {
  const names = sourceNames(parameters, drafts);
  const steps = drafts.map((draft) => toStep(draft, names));
  return { steps, ...(result ? { result: { from: formatReference(result, names) } } : {}) };
}

function toStep({ name, tool, args, when }: StepDraft, names: Names): CodeStep {
  const toValue = (arg: StepArg): StepValue =>
    'reference' in arg ? { from: formatReference(arg.reference, names) } : { value: arg.value };
  return {
    name: name.trim(),
    tool: tool.trim(),
    args: Object.fromEntries(Object.entries(args).map(([arg, value]) => [arg, toValue(value)])),
    ...(when ? { when: toCondition(when, names) } : {}),
  } as CodeStep;
}

function toCondition({ reference, is, valueText }: StepCondition, names: Names): Condition {
  const value = comparesValue(is) ? { value: parseJsonOrText(valueText) } : {};
  return { from: formatReference(reference, names), is, ...value } as Condition;
}

/** Convert the steps of a definition, and what the tool returns, to drafts. */
export function readSteps({ steps, result }: StepsImpl, parameters: Parameter[]) {
  const drafts = steps.map(({ name, tool }) => ({ ...newStep(), name, tool }));
  const names = sourceNames(parameters, drafts);
  const readArg = (value: StepValue): StepArg =>
    typeof value.from === 'string' ? { reference: readReference(value.from, names) } : { value: value.value };
  const withArgs = drafts.map((draft, index): StepDraft => {
    const { args = {}, when } = steps[index] ?? {};
    const entries = Object.entries(args).map(([arg, value]) => [arg, readArg(value)] as const);
    return { ...draft, args: Object.fromEntries(entries), when: when ? readCondition(when, names) : null };
  });
  return { steps: withArgs, result: result ? readReference(result.from, names) : null };
}

const readCondition = ({ from, is, value }: Condition, names: Names): StepCondition => ({
  reference: readReference(from, names),
  is,
  valueText: value === undefined ? '' : formatValue(value),
});

/** Format a value so that `parseJsonOrText` returns it. */
export function formatValue(value: unknown): string {
  return typeof value === 'string' && parseJson(value) === undefined ? value : stringify(value);
}

/** Suggest a name for the result of a tool that no other step, parameter or pack of a step has. */
export function suggestName(tool: string, steps: StepDraft[], parameters: Parameter[]): string {
  const packs = [tool, ...steps.map((step) => step.tool)].map((name) => name.split('.')[0]);
  const taken = new Set([...packs, ...[...steps, ...parameters].map(({ name }) => name.trim())]);
  const base = (tool.split('@')[0]?.split('.').at(-1) ?? '')
    .replace(/[^\p{L}\p{N}_]/gu, '_')
    .replace(/^(?=\d|$)/, 'step_');
  let name = base;
  for (let number = 2; taken.has(name); number += 1) name = `${base}_${number}`;
  return name;
}

/** Move a step up or down by one place. */
export function moveStep(steps: StepDraft[], index: number, by: -1 | 1): StepDraft[] {
  const [step, other] = [steps[index], steps[index + by]];
  return step && other ? steps.with(index, other).with(index + by, step) : steps;
}

/** Return the errors of one step by field, from errors by paths such as `codeImpl.steps.0.tool`. */
export function errorsOfStep(errors: Record<string, string>, index: number): Record<string, string> {
  const found = Object.entries(errors).flatMap(([path, message]) => {
    const [, number, field] = /(?:^|\.)steps\.(\d+)(?:\.(.*))?$/.exec(path) ?? [];
    return Number(number) === index && number !== undefined ? [[field ?? '', message] as const] : [];
  });
  return Object.fromEntries(found);
}
