// The whole definition as JSON, with its mistakes where they stand.
import { ensureSyntaxTree } from '@codemirror/language';
import type { Diagnostic } from '@codemirror/lint';
import type { EditorState } from '@codemirror/state';
import type { EditorView } from '@codemirror/view';
import { useQuery } from '@tanstack/react-query';
import { useCallback } from 'react';
import { send } from '~/api/client';
import { parsed } from '~/api/json';
import { mistakesIn } from '~/forms/validator';
import { useWords } from '~/i18n';
import Editor from '~/parts/Editor';
import css from './maker.module.css';

interface Props {
  text: string;
  errors: Record<string, string>;
  onText: (text: string) => void;
}

/** The schema of a definition, from the server's own document. */
function useToolSchema() {
  return useQuery({
    queryKey: ['document'],
    staleTime: Infinity,
    queryFn: async () => {
      const document = (await (await send('/openapi.json')).json()) as { components: object };
      return { $ref: '#/components/schemas/ToolBody', components: document.components };
    },
  });
}

export default function JsonMode({ text, errors, onText }: Props) {
  const words = useWords();
  const schema = useToolSchema().data;
  const check = useCallback(
    (view: EditorView): Diagnostic[] => {
      const read = parsed(view.state.doc.toString());
      const known = schema && read !== undefined ? mistakesIn(schema, read) : [];
      const told = Object.entries(errors).map(([path, message]) => ({ path: path.split('.'), message }));
      return [...known, ...told].map(({ path, message }) => ({ ...placeOf(view.state, path), severity: 'error' as const, message }));
    },
    [schema, errors],
  );
  return (
    <>
      <p className={css.soft}>{words.maker.toJson}</p>
      <Editor key={JSON.stringify(errors)} label={words.maker.json} language="json" value={text} onChange={onText} check={check} minHeight={320} />
      {Object.entries(errors).map(([path, message]) => (
        <p key={path} className={css.error} role="alert">
          <code>{path}</code> {message}
        </p>
      ))}
    </>
  );
}

/** Where a value stands in the text; the nearest thing around it if it is not there. */
function placeOf(state: EditorState, path: string[]): { from: number; to: number } {
  const tree = ensureSyntaxTree(state, state.doc.length, 500);
  let node = tree?.topNode.firstChild ?? null;
  for (const step of path) {
    const next = node?.name === 'Object' ? property(state, node, step) : node?.name === 'Array' ? element(node, Number(step)) : null;
    if (!next) break;
    node = next;
  }
  return node ? { from: node.from, to: Math.min(node.to, state.doc.lineAt(node.from).to) } : { from: 0, to: 0 };
}

type Node = NonNullable<ReturnType<typeof ensureSyntaxTree>>['topNode'];

function property(state: EditorState, object: Node, name: string): Node | null {
  for (const one of object.getChildren('Property')) {
    const key = one.firstChild;
    if (key && parsed(state.sliceDoc(key.from, key.to)) === name) return one.lastChild;
  }
  return null;
}

function element(array: Node, at: number): Node | null {
  const marks = new Set(['[', ']', ',']);
  const found: Node[] = [];
  for (let child = array.firstChild; child; child = child.nextSibling) if (!marks.has(child.name)) found.push(child);
  return found[at] ?? null;
}
