// Patterns of tools, one per line of a text field.

export const formatPatterns = (patterns: string[]): string => patterns.join('\n');

/** Return the patterns of a text, without empty lines. */
export const parsePatterns = (text: string): string[] =>
  text
    .split('\n')
    .map((line) => line.trim())
    .filter(Boolean);
