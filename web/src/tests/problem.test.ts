import { expect, test } from 'vitest';
import { parseFieldErrors, toProblem } from '~/api/problem';

test('field errors are extracted from paths', () => {
  const detail = 'httpImpl.request.urlTemplate: must start with https://; tags: must be a list';
  expect(parseFieldErrors(detail)).toEqual({
    'httpImpl.request.urlTemplate': 'must start with https://',
    tags: 'must be a list',
  });
});

test.each([
  "slug 'a_b' contains '_'. Allowed: letters, digits and dashes.",
  "Slug 'a_b' contains '_'. Allowed: letters, digits and dashes.",
  "Invalid slug 'a_b'. Allowed: letters, digits and dashes.",
])('a field error is found by the name at the start: %s', (detail) => {
  expect(parseFieldErrors(detail)).toEqual({ slug: detail });
});

test('a field name keeps its spelling', () => {
  expect(Object.keys(parseFieldErrors('urlTemplate has no host.'))).toEqual(['urlTemplate']);
});

test('a response without problem details has a message', () => {
  expect(toProblem(502, null).message).toBe('HTTP 502');
});
