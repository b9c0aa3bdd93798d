// An editor for JSON and Python; the heaviest part of the screens, loaded where it is needed.
// It lives in a shadow root: there its styles need no <style> element, which the page's policy forbids.
import { autocompletion, closeBrackets, closeBracketsKeymap, type CompletionSource, completionKeymap } from '@codemirror/autocomplete';
import { defaultKeymap, history, historyKeymap } from '@codemirror/commands';
import { json, jsonParseLinter } from '@codemirror/lang-json';
import { python } from '@codemirror/lang-python';
import { bracketMatching, defaultHighlightStyle, HighlightStyle, indentOnInput, syntaxHighlighting } from '@codemirror/language';
import { type Diagnostic, linter, lintGutter, lintKeymap } from '@codemirror/lint';
import { Compartment, EditorState, type Extension } from '@codemirror/state';
import { EditorView, keymap, lineNumbers, placeholder as ghost } from '@codemirror/view';
import { tags } from '@lezer/highlight';
import { useEffect, useRef } from 'react';

interface Props {
  label: string;
  language: 'json' | 'python';
  value: string;
  onChange?: (value: string) => void;
  readOnly?: boolean;
  placeholder?: string;
  minHeight?: number;
  /** What else is wrong with the text, beside its grammar. */
  check?: (view: EditorView) => Diagnostic[];
  complete?: CompletionSource;
  onRun?: () => void;
}

const colours = HighlightStyle.define([
  { tag: [tags.keyword, tags.bool, tags.null], color: 'var(--code-keyword)' },
  { tag: [tags.string], color: 'var(--code-string)' },
  { tag: [tags.number], color: 'var(--code-number)' },
  { tag: [tags.propertyName, tags.function(tags.variableName)], color: 'var(--code-name)' },
  { tag: [tags.comment], color: 'var(--soft)' },
]);

const look = EditorView.theme({
  '&': { fontSize: '13.5px', backgroundColor: 'var(--sunk)', border: '1px solid var(--line-strong)', borderRadius: '10px' },
  '&.cm-focused': { outline: '2px solid var(--accent)', outlineOffset: '1px' },
  '.cm-scroller': { fontFamily: 'var(--mono)', lineHeight: '1.55', minHeight: 'var(--editor-height)', maxHeight: '60vh', overflow: 'auto' },
  '.cm-content': { caretColor: 'var(--ink)', padding: '10px 0' },
  '.cm-cursor': { borderLeftColor: 'var(--ink)' },
  '.cm-gutters': { backgroundColor: 'transparent', color: 'var(--soft)', border: 'none' },
  '.cm-tooltip': { backgroundColor: 'var(--surface)', color: 'var(--ink)', border: '1px solid var(--line-strong)', borderRadius: '8px' },
  '.cm-tooltip-autocomplete ul li[aria-selected]': { backgroundColor: 'var(--mantine-color-indigo-filled)', color: '#fff' },
  '.cm-placeholder': { color: 'var(--soft)' },
  '&.cm-focused .cm-selectionBackground, .cm-selectionBackground': { backgroundColor: 'var(--accent-ground) !important' },
  '.cm-matchingBracket': { backgroundColor: 'var(--accent-ground) !important' },
});

export default function Editor(props: Props) {
  const place = useRef<HTMLDivElement>(null);
  const view = useRef<EditorView>(null);
  const latest = useRef(props);
  latest.current = props;
  const reading = useRef(new Compartment());
  const { label, language, value, readOnly = false, placeholder, minHeight = 160 } = props;
  useEffect(() => {
    const root = place.current!.shadowRoot ?? place.current!.attachShadow({ mode: 'open' });
    const made = new EditorView({
      root,
      parent: root,
      state: EditorState.create({ doc: latest.current.value, extensions: [reading.current.of([]), ...extensionsFor(latest, label, language, placeholder)] }),
    });
    view.current = made;
    return () => made.destroy();
  }, [label, language, placeholder]);
  useEffect(() => {
    const locked = readOnly ? [EditorState.readOnly.of(true)] : [];
    view.current?.dispatch({ effects: reading.current.reconfigure(locked) });
  }, [readOnly, label, language, placeholder]);
  useEffect(() => {
    const made = view.current;
    if (made && made.state.doc.toString() !== value) made.dispatch({ changes: { from: 0, to: made.state.doc.length, insert: value } });
  }, [value]);
  return <div ref={place} style={{ '--editor-height': `${minHeight}px` } as React.CSSProperties} />;
}

function extensionsFor(latest: { current: Props }, label: string, language: Props['language'], placeholder?: string): Extension[] {
  const lint = (view: EditorView) => {
    const grammar = language === 'json' && view.state.doc.length > 0 ? jsonParseLinter()(view) : [];
    return grammar.length ? grammar : (latest.current.check?.(view) ?? []);
  };
  const run = () => {
    latest.current.onRun?.();
    return latest.current.onRun !== undefined;
  };
  const complete: CompletionSource = (context) => latest.current.complete?.(context) ?? null;
  return [
    lineNumbers(), history(), bracketMatching(), closeBrackets(), indentOnInput(), lintGutter(),
    language === 'json' ? json() : python(),
    linter(lint, { delay: 250 }),
    autocompletion({ override: [complete] }),
    syntaxHighlighting(colours), syntaxHighlighting(defaultHighlightStyle, { fallback: true }),
    // Tab leaves the editor, as everywhere else on the page.
    keymap.of([{ key: 'Mod-Enter', run }, ...closeBracketsKeymap, ...completionKeymap, ...lintKeymap, ...historyKeymap, ...defaultKeymap]),
    EditorView.lineWrapping,
    EditorView.contentAttributes.of({ 'aria-label': label }),
    EditorView.updateListener.of((update) => {
      if (update.docChanged) latest.current.onChange?.(update.state.doc.toString());
    }),
    ...(placeholder ? [ghost(placeholder)] : []),
    look,
  ];
}
