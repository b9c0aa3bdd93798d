import { expect, test } from 'vitest';
import { initialAnswer } from '~/questions/initialAnswer';
import { pageHost } from '~/questions/pageHost';

test('a form starts with the defaults, and with false for required boxes', () => {
  const properties = {
    name: { type: 'string', default: 'Ada' },
    count: { type: 'integer', default: 0 },
    tags: { type: 'array', default: ['a'] },
    agree: { type: 'boolean' },
    optional: { type: 'boolean' },
    email: { type: 'string' },
  };
  const schema = { type: 'object', properties, required: ['agree', 'email'] };
  expect(initialAnswer(schema)).toEqual({ name: 'Ada', count: 0, tags: ['a'], agree: false });
});

test('a malformed form starts empty', () => {
  for (const schema of [{}, { properties: [1] }, { properties: { a: 5, b: null } }]) {
    expect(initialAnswer(schema)).toEqual({});
  }
});

test('only web pages without a login in their address can be opened', () => {
  expect(pageHost('https://pages.example:8443/sign-in?next=%2F')).toBe('pages.example:8443');
  expect(pageHost('http://127.0.0.1:9000/')).toBe('127.0.0.1:9000');
  const unsafe = [
    'javascript:alert(1)',
    'data:text/html,x',
    'https://bank.example@evil.example/',
    'https://p\u0430ges.example/',
    'https://a b.example/',
    ' https://pages.example/',
    'https://',
    '',
  ];
  expect(unsafe.map(pageHost)).toEqual(unsafe.map(() => ''));
});
