/** Return whether an untrusted text is an https URL of printable ASCII without a login, exactly as it is read. */
export function isHttpsUrl(text: string): boolean {
  if (!/^https:\/\/[!-~]+$/.test(text) || /[\\"'<>]/.test(text)) return false;
  const url = URL.canParse(text) ? new URL(text) : null;
  return url?.protocol === 'https:' && url.username === '' && url.password === '';
}
