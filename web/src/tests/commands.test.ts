import { expect, test } from 'vitest';
import type { Decision, Effect } from '~/api/access';
import { allowCommands, denyCommand } from '~/screens/access/commands';

function decision(profile: string, ...rules: [Effect, string, string?][]): Decision {
  const applied = rules.map(([effect, origin, value = '']) => ({ effect, origin, value }));
  return { caller: 'MCP clients', interface: 'mcp', profile, effect: applied[0]!.effect, rules: applied };
}

test('a tool that runs without asking can be denied', () => {
  const allowed = decision('', ['allow', 'the tool is read-only']);
  expect(allowCommands('time.now', allowed)).toEqual([]);
  expect(denyCommand('time.now', allowed)).toBe('onetool deny time.now');
});

test('every rule that asks is lifted, in the settings and in the profile', () => {
  const asked = decision('part', ['ask', 'approval.mcp', 'ask'], ['ask', 'profiles.part.approval.mode', 'ask']);
  expect(allowCommands('notes.add', asked)).toEqual([
    'onetool allow notes.add',
    'onetool allow notes.add --profile part',
  ]);
  expect(denyCommand('notes.add', asked)).toBe('onetool deny notes.add --profile part');
});

test('a denied pattern is removed itself', () => {
  const denied = decision('part', ['deny', 'profiles.part.approval.deny', 'time.*'], ['allow', 'approval.allow', 'x']);
  expect(allowCommands('time.now', denied)).toEqual([`onetool allow 'time.*' --profile part`]);
  expect(denyCommand('time.now', denied)).toBeNull();
});

test('no command shows a hidden tool', () => {
  const hidden = decision('part', ['hidden', 'profiles.part.packs', 'fs'], ['ask', 'approval.mcp', 'ask']);
  expect(allowCommands('time.now', hidden)).toEqual([]);
  expect(denyCommand('time.now', hidden)).toBeNull();
});

test('names are quoted for the shell', () => {
  const allowed = decision('', ['allow', 'the tool is read-only']);
  expect(denyCommand('a.$(reboot)', allowed)).toBe(`onetool deny 'a.$(reboot)'`);
  expect(denyCommand("a.b'; reboot", allowed)).toBe(`onetool deny 'a.b'\\''; reboot'`);
});
