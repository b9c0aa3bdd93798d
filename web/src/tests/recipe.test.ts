import { expect, test } from 'vitest';
import type { Tool } from '~/api/tools';
import { recipeFromJson, recipeFromTool } from '~/screens/tool-editor/readRecipe';
import {
  EMPTY_RECIPE,
  getPlaceholder,
  placeholderNames,
  type Recipe,
  toToolBody,
  urlHost,
} from '~/screens/tool-editor/recipe';

const RAIN: Recipe = {
  ...EMPTY_RECIPE,
  slug: 'rain',
  description: 'Return the rainfall.',
  method: 'POST',
  url: 'https://api.example.com/rain/${city}?key=${API_KEY}',
  headers: [{ name: 'X-Days', value: '${days}' }],
  body: '{"city": "${city}"}',
  auth: { kind: 'bearer', name: '', secret: 'TOKEN' },
  placeholders: { days: { isSecret: false, type: 'integer', description: 'How many', required: false } },
};

const toTool = (recipe: Recipe) =>
  ({ ...toToolBody(recipe), slug: recipe.slug, version: recipe.version }) as unknown as Tool;

test('each placeholder is found once', () => {
  expect(placeholderNames(RAIN)).toEqual(['city', 'API_KEY', 'days']);
});

test('a placeholder in capitals is a secret by default', () => {
  expect(getPlaceholder(RAIN, 'API_KEY').isSecret).toBe(true);
  expect(getPlaceholder(RAIN, 'city').isSecret).toBe(false);
});

test('a placeholder can have the name of an object method', () => {
  const recipe = { ...EMPTY_RECIPE, url: 'https://a.example/${constructor}' };
  expect(getPlaceholder(recipe, 'constructor')).toMatchObject({ type: 'string', required: true });
});

test('the schema contains arguments but no secrets', () => {
  const { argSchema } = toToolBody(RAIN);
  expect(argSchema).toEqual({
    type: 'object',
    properties: { city: { type: 'string' }, days: { type: 'integer', description: 'How many' } },
    required: ['city'],
    additionalProperties: false,
  });
});

test('the body of a GET request is ignored', () => {
  const recipe = { ...RAIN, method: 'GET', body: '{"x": "${ghost}"}' };
  expect(placeholderNames(recipe)).not.toContain('ghost');
  expect(JSON.stringify(toToolBody(recipe))).not.toContain('ghost');
});

test('a Python tool accepts any arguments', () => {
  const recipe: Recipe = { ...EMPTY_RECIPE, kind: 'python', func: 'notes.add' };
  expect(toToolBody(recipe).argSchema).toEqual({ type: 'object' });
});

test('a definition made from a recipe converts back to it', () => {
  const recipe = recipeFromTool(toTool(RAIN));
  expect(recipe && toToolBody(recipe)).toEqual(toToolBody(RAIN));
});

test('parts that the form does not show are preserved', () => {
  const hidden = { limits: { timeoutMS: 5 }, outputSchema: { type: 'array' } };
  const recipe = recipeFromTool({ ...toTool(RAIN), ...hidden } as unknown as Tool);
  expect(recipe && toToolBody(recipe)).toMatchObject(hidden);
});

test('a definition that the form cannot represent is not a recipe', () => {
  const tool = toTool(RAIN);
  const properties = { ...(tool.argSchema.properties as object), other: { type: 'string' } };
  expect(recipeFromTool({ ...tool, argSchema: { ...tool.argSchema, properties } } as Tool)).toBeNull();
  expect(recipeFromTool({ ...tool, httpImpl: { requests: [tool.httpImpl!.request!] } } as Tool)).toBeNull();
});

test('JSON is a recipe if the form can represent it', () => {
  const recipe = recipeFromJson(toToolBody(RAIN));
  expect(recipe && toToolBody(recipe)).toEqual(toToolBody(RAIN));
});

test.each([{ ...toToolBody(RAIN), httpImpl: { steps: [] } }, 5, null, { type: 'http', argSchema: null }])(
  'other JSON is not a recipe: %j',
  (definition) => {
    expect(recipeFromJson(definition)).toBeNull();
  },
);

test('the host is read from a complete URL only', () => {
  expect(urlHost('https://api.example.com:8080/a')).toBe('api.example.com');
  expect(urlHost('api.example.com')).toBeNull();
});
