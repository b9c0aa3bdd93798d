// The literals of a program that become parameters.
import type { LiteralParameter } from '~/api/code';

/** The chosen literals by their index. */
export type Choices = Record<number, { name: string; description: string }>;

/** Return the parameters of the chosen literals, in the order of the program. */
export const toParameters = (choices: Choices): LiteralParameter[] =>
  Object.entries(choices)
    .map(([index, { name, description }]) => ({ index: Number(index), name: name.trim(), description }))
    .sort((a, b) => a.index - b.index);

/** Return the errors of literals by their index, from errors by paths such as `parameters.0.name`. */
export function errorsByLiteral(
  errors: Record<string, string>,
  parameters: LiteralParameter[],
): Record<number, string> {
  const found = Object.entries(errors).flatMap(([path, message]) => {
    const [, position] = /^parameters\.(\d+)(?:\.|$)/.exec(path) ?? [];
    const parameter = position === undefined ? undefined : parameters[Number(position)];
    // The path counts parameters, which means nothing to the user.
    const text = message.startsWith(`${path}: `) ? message.slice(path.length + 2) : message;
    return parameter ? [[parameter.index, text] as const] : [];
  });
  return Object.fromEntries(found);
}
