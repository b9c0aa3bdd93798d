import { expect, test } from 'vitest';
import { auditExportUrl, toAuditQuery } from '~/api/audit';
import { en, type Messages } from '~/i18n/en';
import { zh } from '~/i18n/zh';
import { actionChoices, actionLabel } from '~/screens/audit/actions';
import { detailFacts } from '~/screens/audit/detailText';
import { readFilter, writeFilter } from '~/screens/audit/filter';

const FILTER = { actor: ' anna ', action: 'bundle', target: '', since: '2026-11-18T09:30', until: '' };

test('a filter becomes the parameters of a request', () => {
  const since = new Date(2026, 10, 18, 9, 30).getTime() / 1000;
  expect(toAuditQuery(FILTER)).toEqual({ actor: 'anna', action: 'bundle', since });
  expect(auditExportUrl(FILTER)).toBe(`/audit/export?actor=anna&action=bundle&since=${since}`);
  expect(auditExportUrl(readFilter(new URLSearchParams()))).toBe('/audit/export');
});

test('a filter survives in the address, without times that the server refuses', () => {
  expect(readFilter(writeFilter(FILTER))).toEqual(FILTER);
  expect(readFilter(new URLSearchParams('since=tomorrow&until=1960-01-01T00:00'))).toMatchObject({
    since: '',
    until: '',
  });
});

const valuesOf = (messages: Messages, chosen: string) =>
  actionChoices(messages, chosen).flatMap((choice) =>
    'items' in choice ? choice.items.map(({ value }) => value) : [choice.value],
  );

test('an action of a later version can be chosen by the address', () => {
  expect(valuesOf(en, 'planet.move')).toContain('planet.move');
  expect(valuesOf(en, 'key.create')).toEqual(valuesOf(en, ''));
});

test('every action has words and a choice in each language', () => {
  for (const messages of [en, zh]) {
    const values = valuesOf(messages, '');
    for (const action of Object.keys(messages.audit.actions)) expect(values).toContain(action);
    expect(values).toContain('member');
    expect(new Set(values).size).toBe(values.length);
  }
  expect(actionLabel(en, 'key.create')).toBe('Created API key');
  expect(actionLabel(en, 'planet.move')).toBe('planet.move');
  expect(actionLabel(en, 'constructor')).toBe('constructor');
});

test('details are shown as text, without empty ones', () => {
  const detail = { role: 'maker', patterns: ['a.*', 'b'], note: '', hosts: null, enabled: false, limits: { calls: 1 } };
  expect(detailFacts(detail)).toEqual([
    ['role', 'maker'],
    ['patterns', 'a.*, b'],
    ['hosts', 'null'],
    ['enabled', 'false'],
    ['limits', '{"calls":1}'],
  ]);
  expect(detailFacts({ patterns: [] })).toEqual([]);
});
