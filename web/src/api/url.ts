/** Decode a path segment. Return it unchanged if it is not valid percent-encoding. */
export function decodeSegment(segment: string): string {
  try {
    return decodeURIComponent(segment);
  } catch {
    return segment;
  }
}

/** Split a JSON pointer in URI fragment form (`#/a/b`) into its decoded segments. */
export function parseJsonPointer(pointer: string): string[] {
  return pointer
    .split('/')
    .slice(1)
    .map((segment) => decodeSegment(segment).replaceAll('~1', '/').replaceAll('~0', '~'));
}
