/** Return the next free label: v1, v2 and so on. */
export function nextVersion(existing: string[]): string {
  let number = 1;
  while (existing.includes(`v${number}`)) number += 1;
  return `v${number}`;
}
