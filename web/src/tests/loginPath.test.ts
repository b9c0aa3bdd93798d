import { expect, test } from 'vitest';
import { loginPath } from '~/screens/tester/loginPath';

const result = (message: string, reason = 'needs_login') => ({
  meta: { reason },
  error: { tool: 'mail.send', code: 'execution_error', message },
});

test('a call without a login leads to the page on which to log in', () => {
  expect(loginPath(result('You have none. Open https://t.example/w/a/connections?server=my%20mail'))).toBe(
    '/connections?server=my%20mail',
  );
  expect(loginPath(result('Yours are missing. Open https://t.example/w/a/secrets'))).toBe('/secrets');
});

test('other errors lead nowhere', () => {
  expect(loginPath(result('Open https://t.example/w/a/secrets', 'raised'))).toBeUndefined();
  expect(loginPath(result('Open https://evil.example/elsewhere'))).toBeUndefined();
  expect(loginPath(result('You have none.'))).toBeUndefined();
});
