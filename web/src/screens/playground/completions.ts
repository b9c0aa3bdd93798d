// Completion of pack and function names in the editor.
import type { Completion, CompletionContext, CompletionResult, CompletionSource } from '@codemirror/autocomplete';
import type { Packs } from '~/api/run';

/** Create a completion source. It waits for the packs if they are not loaded yet. */
export function createCompletionSource(loadPacks: () => Promise<Packs>): CompletionSource {
  return async (context: CompletionContext): Promise<CompletionResult | null> => {
    const word = context.matchBefore(/[\w.]+/);
    if (!word && !context.explicit) return null;
    return completeName(await loadPacks(), word?.text ?? '', word?.from ?? context.pos);
  };
}

/** Complete `pack`, or the function in `pack.function`. `from` is the position of the word. */
function completeName(packs: Packs, word: string, from: number): CompletionResult | null {
  const dot = word.lastIndexOf('.');
  if (dot < 0) {
    const options = Object.keys(packs).map(
      (pack): Completion => ({ label: pack, type: 'namespace', apply: `${pack}.` }),
    );
    return { from, options };
  }
  const pack = word.slice(0, dot);
  const functions = Object.hasOwn(packs, pack) ? packs[pack] : undefined;
  if (!functions) return null;
  const options = functions.map(
    ({ name, signature, description }): Completion => ({
      label: name,
      type: 'function',
      detail: signature.slice(signature.indexOf('(')),
      info: description,
      apply: `${name}(`,
    }),
  );
  return { from: from + dot + 1, options };
}
