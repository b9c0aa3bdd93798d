// Lists of texts, one per line of a text field.

export const formatItems = (items: string[]): string => items.join('\n');

/** Return the lines of a text, without spaces around them and without empty ones. */
export const parseItems = (text: string): string[] =>
  text
    .split('\n')
    .map((line) => line.trim())
    .filter(Boolean);
