/** A part of an address as it was meant; what is no such part stays as it is. */
export function decoded(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}

/** The steps of a JSON pointer, as it stands behind a `#`. */
export function pointerSteps(pointer: string): string[] {
  return pointer
    .split('/')
    .slice(1)
    .map((step) => decoded(step).replaceAll('~1', '/').replaceAll('~0', '~'));
}
