import { expect, test } from 'vitest';
import type { Tool } from '~/api/tools';
import { groupVersions, versionsToToggle } from '~/screens/tools/rows';

const tool = (version: string, isEnabled: boolean) =>
  ({ bundleID: 'b', slug: 's', version, createdAt: version, isEnabled }) as Tool;

test('the main version is the newest enabled one', () => {
  const [group] = groupVersions([tool('v1', true), tool('v3', false), tool('v2', true)]);
  expect([group?.main.version, group?.versions.length]).toEqual(['v2', 3]);
});

test('disabling a tool disables all versions, enabling it only the main one', () => {
  const [group] = groupVersions([tool('v1', true), tool('v2', true), tool('v3', false)]);
  const toggled = (isEnabled: boolean) => versionsToToggle(group!, isEnabled).map(({ version }) => version);
  expect([toggled(false), toggled(true)]).toEqual([['v1', 'v2'], ['v2']]);
});
