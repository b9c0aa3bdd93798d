// guards: registry-texts
import { expect, test } from 'vitest';
import { isHttpsUrl } from '~/screens/servers/registry/isHttpsUrl';

test('an https URL is a link', () => {
  for (const url of ['https://github.com/owner/server', 'https://example.com:8443/a?b=c#d']) {
    expect(isHttpsUrl(url), url).toBe(true);
  }
});

test('anything else is text', () => {
  const texts = [
    '',
    'http://example.com',
    'javascript:alert(1)',
    'JaVaScRiPt:alert(1)//https://example.com',
    'data:text/html,<script>alert(1)</script>',
    ' https://example.com',
    'https://',
    'https://user@example.com',
    'https://github.com@evil.test/',
    'https://example.com/\u202egnp.exe',
    'https://ex\u0430mple.com',
    'https://example.com/"onclick="x',
    'https:\\\\example.com',
    '//example.com',
  ];
  for (const text of texts) expect(isHttpsUrl(text), text).toBe(false);
});
