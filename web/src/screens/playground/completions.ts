// What the editor knows of packs: names after a dot, packs before it.
import type { Completion, CompletionContext, CompletionResult } from '@codemirror/autocomplete';
import type { Schemas } from '~/api/client';

type Packs = Schemas['Signatures']['packs'];

/** Complete `pack` and `pack.function`; whoever types before the packs are known gets them when they are. */
export function completerOf(packs: () => Promise<Packs>) {
  return async (context: CompletionContext): Promise<CompletionResult | null> => {
    const word = context.matchBefore(/[\w.]+/);
    if (!word && !context.explicit) return null;
    return optionsFor(await packs(), word?.text ?? '', word?.from ?? context.pos);
  };
}

export function optionsFor(packs: Packs, word: string, from: number): CompletionResult | null {
  const dot = word.lastIndexOf('.');
  if (dot < 0) {
    const options = Object.keys(packs).map((pack): Completion => ({ label: pack, type: 'namespace', apply: `${pack}.` }));
    return { from, options };
  }
  const pack = word.slice(0, dot);
  if (!Object.hasOwn(packs, pack)) return null;
  const options = packs[pack]!.map(
    (one): Completion => ({ label: one.name, type: 'function', detail: one.signature.slice(one.signature.indexOf('(')), info: one.description, apply: `${one.name}(` }),
  );
  return { from: from + dot + 1, options };
}
