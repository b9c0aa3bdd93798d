import { expect, test } from 'vitest';
import { expandTemplate, templateNames } from '~/screens/resources/uriTemplate';

test.each([
  ['file:///{+path}', { path: 'a b/c' }, 'file:///a%20b/c'],
  ['memo:{id}', { id: 'a/b' }, 'memo:a%2Fb'],
  ['x://y{/a,b}', { a: '1', b: '2' }, 'x://y/1/2'],
  ['x://y{?q,n}', { q: 'a&b', n: '3' }, 'x://y?q=a%26b&n=3'],
  ['x://y{?q,n}', { n: '3' }, 'x://y?n=3'],
  ['x://y{?q}{#part}', {}, 'x://y'],
  ['x://{name*}', { name: 'z' }, 'x://z'],
])('%s is filled in', (template, values, uri) => {
  expect(expandTemplate(template, values)).toBe(uri);
});

test('names are listed once', () => {
  expect(templateNames('x://{a}/{+b}{?a,c*}')).toEqual(['a', 'b', 'c']);
});
