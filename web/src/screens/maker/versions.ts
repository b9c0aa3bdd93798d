/** The label after those that are taken: v2 after v1. */
export function nextVersion(taken: string[]): string {
  let number = 1;
  while (taken.includes(`v${number}`)) number += 1;
  return `v${number}`;
}
