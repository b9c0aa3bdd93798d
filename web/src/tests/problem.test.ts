import { expect, test } from 'vitest';
import { toProblem } from '~/api/problem';

const DETAIL = "slug 'a_b' contains '_'; httpImpl.request.urlTemplate: is missing";

test('field errors come from the list of errors', () => {
  const errors = [
    { path: 'slug', message: "slug 'a_b' contains '_'." },
    { path: 'httpImpl.request.urlTemplate', message: 'is missing' },
  ];
  const problem = toProblem(400, { title: 'Bad Request', status: 400, detail: DETAIL, errors });
  expect(problem.message).toBe(DETAIL);
  expect(problem.fields).toEqual({
    slug: "slug 'a_b' contains '_'.",
    'httpImpl.request.urlTemplate': 'is missing',
  });
});

test('field errors are not guessed from the sentence', () => {
  expect(toProblem(400, { detail: DETAIL }).fields).toEqual({});
});

test.each([null, 'slug: is missing', {}, [null, 1, { path: 5, message: 'x' }, { path: 'slug' }]])(
  'malformed errors are ignored: %j',
  (errors) => {
    expect(toProblem(400, { detail: DETAIL, errors }).fields).toEqual({});
  },
);

test('an error of the body itself belongs to no field', () => {
  expect(toProblem(400, { detail: DETAIL, errors: [{ path: '', message: 'should be an object' }] }).fields).toEqual({});
});

test('a response without problem details has a message', () => {
  expect(toProblem(502, null).message).toBe('HTTP 502');
});
