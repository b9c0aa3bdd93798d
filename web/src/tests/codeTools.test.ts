import { expect, test } from 'vitest';
import type { CodeStep } from '~/api/code';
import type { Tool } from '~/api/tools';
import { errorsByLiteral, toParameters } from '~/screens/save-code/literals';
import { hasDuplicateName, hasInvalidDefault, newParameter, readParameters } from '~/screens/tool-editor/parameters';
import { recipeFromTool } from '~/screens/tool-editor/readRecipe';
import { EMPTY_RECIPE, type Recipe, toToolBody } from '~/screens/tool-editor/recipe';
import { errorsOfStep, formatValue, moveStep, newStep, suggestName } from '~/screens/tool-editor/steps';
import { argumentSchema, toolArguments } from '~/screens/tool-editor/steps-form/toolSchema';

const CITY = { ...newParameter(), name: 'city' };

const STEPS: CodeStep[] = [
  { name: 'places', tool: 'maps.find', args: { q: { from: 'args.city' }, limit: { value: 3 } } },
  {
    name: 'rain',
    tool: 'weather.rain',
    args: { place: { from: 'places.items[0].name' }, unit: { value: '' }, days: { value: null } },
    when: { from: 'places.items', is: 'present' },
  },
  {
    name: 'note',
    tool: 'notes.add',
    args: { text: { from: 'rain[0]' } },
    when: { from: 'args.city', is: 'equals', value: '5' },
  },
];

const toTool = (codeImpl: object, argSchema: object) =>
  ({
    slug: 'trip',
    version: 'v1',
    displayName: 'Trip',
    description: 'Plan a trip.',
    tags: [],
    isEnabled: true,
    type: 'code',
    argSchema,
    codeImpl,
  }) as unknown as Tool;

const CITY_SCHEMA = { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] };

test('steps open again in the form, and are saved as they were', () => {
  const codeImpl = { steps: STEPS, result: { from: 'rain[0].mm' }, program: 'places = maps.find(q=city)\n' };
  const recipe = recipeFromTool(toTool(codeImpl, CITY_SCHEMA));
  expect(recipe?.kind).toBe('steps');
  const body = toToolBody(recipe as Recipe);
  expect(body.codeImpl).toEqual({ steps: STEPS, result: { from: 'rain[0].mm' } });
  expect(body.argSchema).toEqual(CITY_SCHEMA);
});

test('code opens again as code with all of its schema', () => {
  const argSchema = {
    type: 'object',
    properties: {
      city: { type: 'string', description: 'Where', default: 'Oslo', maxLength: 9 },
      days: { type: 'integer', default: 3 },
      text: { type: 'string', default: '' },
      flags: { type: 'array', default: [], items: { type: 'string' } },
      any: { default: null },
    },
    required: ['city'],
    additionalProperties: false,
  };
  const recipe = recipeFromTool(toTool({ program: 'city * days' }, argSchema));
  expect(recipe?.kind).toBe('code');
  expect(toToolBody(recipe as Recipe)).toMatchObject({ argSchema, codeImpl: { program: 'city * days' } });
});

test('a parameter that the form cannot show is edited as JSON', () => {
  const argSchema = { type: 'object', properties: { city: { type: ['string', 'null'] } } };
  expect(recipeFromTool(toTool({ program: 'city' }, argSchema))).toBeNull();
});

test('a renamed parameter or step is renamed where it is used', () => {
  const [first, second] = [newStep(), newStep()];
  const recipe: Recipe = {
    ...EMPTY_RECIPE,
    kind: 'steps',
    parameters: [{ ...CITY, name: 'town' }],
    steps: [
      { ...first, name: 'found', tool: 'maps.find', args: { q: { reference: { source: CITY.id, path: '' } } } },
      {
        ...second,
        name: 'rain',
        tool: 'weather.rain',
        args: { place: { reference: { source: first.id, path: 'items[0]' } } },
      },
    ],
    result: { source: first.id, path: '[0]' },
  };
  const { steps, result } = toToolBody(recipe).codeImpl ?? {};
  expect(steps?.[0]?.args).toEqual({ q: { from: 'args.town' } });
  expect(steps?.[1]?.args).toEqual({ place: { from: 'found.items[0]' } });
  expect(result).toEqual({ from: 'found[0]' });
});

test('a reference to nothing is kept as it was written', () => {
  const steps = [{ name: 'a', tool: 't.a', args: { x: { from: 'args.gone.deep' }, y: { from: 'later[1]' } } }];
  const recipe = recipeFromTool(toTool({ steps }, CITY_SCHEMA));
  expect(toToolBody(recipe as Recipe).codeImpl).toEqual({ steps });
});

test('the text of a compared value is JSON or any other text', () => {
  expect(['rain', '5', '', 5, true, null, [1]].map(formatValue)).toEqual([
    'rain',
    '"5"',
    '',
    '5',
    'true',
    'null',
    '[\n  1\n]',
  ]);
});

test('the name of a result is not that of another step, a parameter or a pack', () => {
  const other = { ...newStep(), name: 'rain', tool: 'weather.rain' };
  expect(suggestName('weather.rain', [], [])).toBe('rain');
  expect(suggestName('weather.rain', [other], [])).toBe('rain_2');
  expect(suggestName('maps.city', [], [CITY])).toBe('city_2');
  expect(suggestName('maps.weather', [other], [])).toBe('weather_2');
  expect(suggestName('files.2files', [], [])).toBe('step_2files');
});

test('steps move by one place and not beyond the ends', () => {
  const [a, b] = [newStep(), newStep()];
  expect(moveStep([a, b], 0, 1)).toEqual([b, a]);
  expect(moveStep([a, b], 0, -1)).toEqual([a, b]);
  expect(moveStep([a, b], 1, 1)).toEqual([a, b]);
});

test('an error belongs to one step', () => {
  const errors = { 'codeImpl.steps.1.args.url.from': 'no step x', 'steps.0': 'wrong', 'steps.11.tool': 'other' };
  expect(errorsOfStep(errors, 0)).toEqual({ '': 'wrong' });
  expect(errorsOfStep(errors, 1)).toEqual({ 'args.url.from': 'no step x' });
});

test('a default must have the type of its parameter', () => {
  const isInvalid = (type: 'integer' | 'boolean' | 'string' | 'any', defaultText: string) =>
    hasInvalidDefault({ ...CITY, type, defaultText });
  expect([isInvalid('integer', '5'), isInvalid('boolean', 'true'), isInvalid('string', '5')]).toEqual([
    false,
    false,
    false,
  ]);
  expect([isInvalid('integer', '5.5'), isInvalid('integer', 'x'), isInvalid('boolean', '1')]).toEqual([
    true,
    true,
    true,
  ]);
  expect(isInvalid('any', 'x')).toBe(false);
});

test('two parameters cannot have one name', () => {
  const second = { ...newParameter(), name: ' city ' };
  expect(hasDuplicateName([CITY, second], CITY)).toBe(true);
  expect(hasDuplicateName([CITY], CITY)).toBe(false);
});

test('a schema without properties has no parameters', () => {
  expect(readParameters({ type: 'object' })).toEqual([]);
});

test('required arguments come first, and arguments that the tool does not have are listed', () => {
  const schema = { properties: { a: {}, b: { description: 'B' }, constructor: {} }, required: ['b'] };
  expect(toolArguments(schema, ['x']).map(({ name }) => name)).toEqual(['b', 'a', 'constructor', 'x']);
});

test('the form of one argument can resolve its references', () => {
  const schema = { properties: { a: { $ref: '#/$defs/A' }, b: {} }, required: ['b'], $defs: { A: { type: 'string' } } };
  expect(argumentSchema(schema, 'a', 'Value')).toEqual({
    properties: { a: { $ref: '#/$defs/A', title: 'Value', description: undefined } },
    required: [],
    $defs: schema.$defs,
  });
});

test('errors are shown at the literal that became the parameter', () => {
  const parameters = toParameters({
    7: { name: ' days ', description: '' },
    2: { name: 'city', description: 'Where' },
  });
  expect(parameters).toEqual([
    { index: 2, name: 'city', description: 'Where' },
    { index: 7, name: 'days', description: '' },
  ]);
  expect(errorsByLiteral({ 'parameters.1.name': 'parameters.1.name: taken', code: 'wrong' }, parameters)).toEqual({
    7: 'taken',
  });
});
