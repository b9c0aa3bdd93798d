/** Return the day of a time in seconds; empty without a time. */
export const formatDay = (seconds: number | null, locale: string): string =>
  seconds === null ? '' : new Date(seconds * 1000).toLocaleDateString(locale, { dateStyle: 'medium' });
