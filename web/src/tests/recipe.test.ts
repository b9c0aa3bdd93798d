import { expect, test } from 'vitest';
import type { Tool } from '~/api/tools';
import { BLANK, bodyOf, foundOf, hostOf, namesIn, type Recipe, recipeIn, recipeOf } from '~/screens/maker/recipe';

const RAIN: Recipe = {
  ...BLANK,
  slug: 'rain',
  description: 'Tell how much it rains.',
  method: 'POST',
  url: 'https://api.example.com/rain/${city}?key=${API_KEY}',
  headers: [{ name: 'X-Days', value: '${days}' }],
  body: '{"city": "${city}"}',
  auth: { kind: 'bearer', name: '', secret: 'TOKEN' },
  found: { days: { isSecret: false, type: 'integer', description: 'How many', required: false } },
};

const stored = (recipe: Recipe) => ({ ...bodyOf(recipe), slug: recipe.slug, version: recipe.version }) as unknown as Tool;

test('placeholders are found by themselves, each once', () => {
  expect(namesIn(RAIN)).toEqual(['city', 'API_KEY', 'days']);
});

test('a name in capitals is taken for a secret', () => {
  expect(foundOf(RAIN, 'API_KEY').isSecret).toBe(true);
  expect(foundOf(RAIN, 'city').isSecret).toBe(false);
});

test('arguments are in the schema, secrets are not', () => {
  const { argSchema } = bodyOf(RAIN);
  expect(argSchema).toEqual({
    type: 'object',
    properties: { city: { type: 'string' }, days: { type: 'integer', description: 'How many' } },
    required: ['city'],
    additionalProperties: false,
  });
});

test('a definition that the recipe made can be edited as a recipe again', () => {
  const again = recipeOf(stored(RAIN));
  expect(again && bodyOf(again)).toEqual(bodyOf(RAIN));
});

test('what the form does not show is handed on', () => {
  const tool = { ...stored(RAIN), limits: { timeoutMS: 5 }, outputSchema: { type: 'array' } } as unknown as Tool;
  const again = recipeOf(tool);
  expect(again && bodyOf(again)).toMatchObject({ limits: { timeoutMS: 5 }, outputSchema: { type: 'array' } });
});

test('a definition that says more than the recipe can is left to JSON', () => {
  const tool = stored(RAIN);
  const strange = { ...tool.argSchema, properties: { ...(tool.argSchema.properties as object), other: { type: 'string' } } };
  expect(recipeOf({ ...tool, argSchema: strange } as Tool)).toBeNull();
  expect(recipeOf({ ...tool, httpImpl: { requests: [tool.httpImpl!.request!] } } as Tool)).toBeNull();
});

test('the host is read from an address, whatever follows it', () => {
  expect(hostOf('https://api.example.com:8080/a')).toBe('api.example.com');
  expect(hostOf('api.example.com')).toBeNull();
});

test('what is written as JSON is a recipe again where a recipe can say it', () => {
  const again = recipeIn(bodyOf(RAIN));
  expect(again && bodyOf(again)).toEqual(bodyOf(RAIN));
  const several = { ...bodyOf(RAIN), httpImpl: { steps: [] } };
  expect([recipeIn(several), recipeIn(5), recipeIn(null), recipeIn({ type: 'http', argSchema: null })]).toEqual([null, null, null, null]);
});

test('a function is given whatever it asks for', () => {
  expect(bodyOf({ ...BLANK, kind: 'python', func: 'notes.add' }).argSchema).toEqual({ type: 'object' });
});

test('a request without a body has no names from one', () => {
  const turned = { ...RAIN, method: 'GET', body: '{"x": "${ghost}"}' };
  expect(namesIn(turned)).not.toContain('ghost');
  expect(JSON.stringify(bodyOf(turned))).not.toContain('ghost');
  expect(foundOf({ ...BLANK, url: 'https://a.example/${constructor}' }, 'constructor')).toMatchObject({ type: 'string', required: true });
});
