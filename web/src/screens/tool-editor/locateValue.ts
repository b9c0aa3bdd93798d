import { ensureSyntaxTree } from '@codemirror/language';
import type { EditorState } from '@codemirror/state';
import { parseJson } from '~/api/json';

type SyntaxNode = NonNullable<ReturnType<typeof ensureSyntaxTree>>['topNode'];

const PARSE_TIMEOUT_MS = 500;
const PUNCTUATION = new Set(['[', ']', ',']);

/** Return the first line of the value at a path, or of its nearest ancestor in the text. */
export function locateValue(state: EditorState, path: string[]): { from: number; to: number } {
  let node = ensureSyntaxTree(state, state.doc.length, PARSE_TIMEOUT_MS)?.topNode.firstChild ?? null;
  for (const segment of path) {
    const child = node && findChild(state, node, segment);
    if (!child) break;
    node = child;
  }
  return node ? { from: node.from, to: Math.min(node.to, state.doc.lineAt(node.from).to) } : { from: 0, to: 0 };
}

function findChild(state: EditorState, node: SyntaxNode, segment: string): SyntaxNode | null {
  if (node.name === 'Object') return findProperty(state, node, segment);
  return node.name === 'Array' ? findItem(node, Number(segment)) : null;
}

function findProperty(state: EditorState, object: SyntaxNode, name: string): SyntaxNode | null {
  for (const property of object.getChildren('Property')) {
    const key = property.firstChild;
    if (key && parseJson(state.sliceDoc(key.from, key.to)) === name) return property.lastChild;
  }
  return null;
}

function findItem(array: SyntaxNode, index: number): SyntaxNode | null {
  const items: SyntaxNode[] = [];
  for (let child = array.firstChild; child; child = child.nextSibling) {
    if (!PUNCTUATION.has(child.name)) items.push(child);
  }
  return items[index] ?? null;
}
