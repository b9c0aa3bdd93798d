import { expect, test } from 'vitest';
import { workspaceOf } from '~/api/workspace';

test('the workspace is the start of a path', () => {
  expect(workspaceOf('/w/team-a/tools/x')).toBe('/w/team-a');
  expect(workspaceOf('/w/team-a')).toBe('/w/team-a');
  expect(workspaceOf('/tools/w/x')).toBe('');
  expect(workspaceOf('/w/')).toBe('');
});
