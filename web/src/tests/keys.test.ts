import { expect, test } from 'vitest';
import type { ApiKey } from '~/api/keys';
import { formatItems, parseItems } from '~/forms/items';
import { toClientConfig } from '~/screens/keys/clientConfig';
import { keyStatus } from '~/screens/keys/keyStatus';

const KEY: ApiKey = {
  id: '1',
  owner: 'anna',
  name: 'laptop',
  prefix: 'otk_abcdef',
  patterns: [],
  createdAt: 1_000,
  expiresAt: 2_000,
  revokedAt: null,
};

test('a key is valid until it expires or is revoked', () => {
  expect(keyStatus(KEY, 1_999_999)).toBe('valid');
  expect(keyStatus(KEY, 2_000_000)).toBe('expired');
  expect(keyStatus({ ...KEY, revokedAt: 1_500 }, 1_400_000)).toBe('revoked');
});

test('an MCP client gets the URL of the workspace and the key', () => {
  const config = JSON.parse(toClientConfig('otk_"x"', 'https://tools.example', '/w/team-a'));
  expect(config.mcpServers.onetool).toEqual({
    type: 'http',
    url: 'https://tools.example/w/team-a/mcp',
    headers: { Authorization: 'Bearer otk_"x"' },
  });
});

test('patterns are lines without spaces around them', () => {
  expect(parseItems(' github.* \n\n  time.now\n')).toEqual(['github.*', 'time.now']);
  expect(parseItems(' \n')).toEqual([]);
  expect(formatItems(['github.*', 'time.now'])).toBe('github.*\ntime.now');
});
