/** Return the host of a page that a server names, in ASCII, or an empty text if the page must not be opened. */
export function pageHost(text: string): string {
  if (!/^https?:\/\/[!-~]+$/.test(text) || !URL.canParse(text)) return '';
  const { host, username, password } = new URL(text);
  return username || password ? '' : host;
}
