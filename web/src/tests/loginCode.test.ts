import { afterEach, expect, test, vi } from 'vitest';
import { takeLoginCode } from '~/api/loginCode';

afterEach(() => vi.unstubAllGlobals());

test('the code of a login link is returned once and removed from the address', () => {
  const location = { hash: '#login=secret', pathname: '/tools', search: '?q=a' };
  const replaceState = vi.fn((_state: unknown, _title: string, _url: string) => {
    location.hash = '';
  });
  vi.stubGlobal('location', location);
  vi.stubGlobal('history', { state: null, replaceState });
  expect(takeLoginCode()).toBe('secret');
  expect(replaceState).toHaveBeenCalledWith(null, '', '/tools?q=a');
  expect(takeLoginCode()).toBe('');
});

test('other fragments stay', () => {
  const replaceState = vi.fn();
  vi.stubGlobal('location', { hash: '#section', pathname: '/', search: '' });
  vi.stubGlobal('history', { state: null, replaceState });
  expect(takeLoginCode()).toBe('');
  expect(replaceState).not.toHaveBeenCalled();
});
