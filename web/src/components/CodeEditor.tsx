// An editor for JSON and Python. It is large, so load it lazily.
// It runs in a shadow root, where its styles need no <style> element: the content security policy forbids those.
import {
  autocompletion,
  type CompletionSource,
  closeBrackets,
  closeBracketsKeymap,
  completionKeymap,
} from '@codemirror/autocomplete';
import { defaultKeymap, history, historyKeymap } from '@codemirror/commands';
import { json, jsonParseLinter } from '@codemirror/lang-json';
import { python } from '@codemirror/lang-python';
import { bracketMatching, defaultHighlightStyle, indentOnInput, syntaxHighlighting } from '@codemirror/language';
import { type Diagnostic, linter, lintGutter, lintKeymap } from '@codemirror/lint';
import { Annotation, Compartment, EditorState, type Extension, StateEffect } from '@codemirror/state';
import { EditorView, keymap, lineNumbers, placeholder as placeholderText, type ViewUpdate } from '@codemirror/view';
import { type CSSProperties, useEffect, useRef, useState } from 'react';
import { editorTheme, highlightStyle } from './codeEditorTheme';

interface Props {
  label: string;
  language: 'json' | 'python';
  value: string;
  onChange?: (value: string) => void;
  readOnly?: boolean;
  placeholder?: string;
  minHeight?: number;
  /** Return errors beyond the syntax. */
  validate?: (view: EditorView) => Diagnostic[];
  complete?: CompletionSource;
  /** Handles Ctrl+Enter. */
  onRun?: () => void;
}

/** Marks a change that comes from the `value` property, not from the user. */
const fromProperty = Annotation.define<true>();
/** Requests that the text is validated again. */
const revalidate = StateEffect.define<null>();

export default function CodeEditor(props: Props) {
  const container = useRef<HTMLDivElement>(null);
  const viewRef = useRef<EditorView>(null);
  const latestProps = useRef(props);
  latestProps.current = props;
  const readOnlyCompartment = useRef(new Compartment());
  // Counts the user's changes. A render holds the value of the parent as of change number `renderedChange`.
  const lastChange = useRef(0);
  const [renderedChange, setRenderedChange] = useState(0);
  const { label, language, value, validate, readOnly = false, placeholder, minHeight = 160 } = props;
  useEffect(() => {
    if (!container.current) return;
    const root = container.current.shadowRoot ?? container.current.attachShadow({ mode: 'open' });
    const handleChange = (text: string) => {
      lastChange.current += 1;
      // React renders both updates together.
      setRenderedChange(lastChange.current);
      latestProps.current.onChange?.(text);
    };
    const extensions = createExtensions(latestProps, handleChange, label, language, placeholder);
    const view = new EditorView({
      root,
      parent: root,
      state: EditorState.create({
        doc: latestProps.current.value,
        extensions: [readOnlyCompartment.current.of(readOnlyExtension(latestProps.current.readOnly)), ...extensions],
      }),
    });
    viewRef.current = view;
    return () => view.destroy();
  }, [label, language, placeholder]);
  useEffect(() => {
    const extension = readOnlyExtension(readOnly);
    viewRef.current?.dispatch({ effects: readOnlyCompartment.current.reconfigure(extension) });
  }, [readOnly]);
  useEffect(() => {
    if (validate) viewRef.current?.dispatch({ effects: revalidate.of(null) });
  }, [validate]);
  useEffect(() => {
    const view = viewRef.current;
    // A value from before the user's last change is an echo. A newer one follows.
    if (!view || renderedChange !== lastChange.current || view.state.doc.toString() === value) return;
    view.dispatch({
      changes: { from: 0, to: view.state.doc.length, insert: value },
      annotations: fromProperty.of(true),
    });
  }, [value, renderedChange]);
  return <div ref={container} style={{ '--editor-height': `${minHeight}px` } as CSSProperties} />;
}

const readOnlyExtension = (readOnly = false): Extension => (readOnly ? EditorState.readOnly.of(true) : []);

const isRevalidation = (update: ViewUpdate): boolean =>
  update.transactions.some((transaction) => transaction.effects.some((effect) => effect.is(revalidate)));

function createExtensions(
  props: { current: Props },
  onChange: (text: string) => void,
  label: string,
  language: Props['language'],
  placeholder?: string,
): Extension[] {
  const lint = (view: EditorView) => {
    const syntaxErrors = language === 'json' && view.state.doc.length > 0 ? jsonParseLinter()(view) : [];
    return syntaxErrors.length ? syntaxErrors : (props.current.validate?.(view) ?? []);
  };
  const run = () => {
    props.current.onRun?.();
    return props.current.onRun !== undefined;
  };
  const complete: CompletionSource = (context) => props.current.complete?.(context) ?? null;
  return [
    lineNumbers(),
    history(),
    bracketMatching(),
    closeBrackets(),
    indentOnInput(),
    lintGutter(),
    language === 'json' ? json() : python(),
    linter(lint, { delay: 250, needsRefresh: isRevalidation }),
    autocompletion({ override: [complete] }),
    syntaxHighlighting(highlightStyle),
    syntaxHighlighting(defaultHighlightStyle, { fallback: true }),
    // Tab is not bound: it moves the focus out of the editor, as everywhere else on the page.
    keymap.of([
      { key: 'Mod-Enter', run },
      ...closeBracketsKeymap,
      ...completionKeymap,
      ...lintKeymap,
      ...historyKeymap,
      ...defaultKeymap,
    ]),
    EditorView.lineWrapping,
    EditorView.contentAttributes.of({ 'aria-label': label }),
    EditorView.updateListener.of((update) => {
      const isFromUser = !update.transactions.some((transaction) => transaction.annotation(fromProperty));
      if (update.docChanged && isFromUser) onChange(update.state.doc.toString());
    }),
    ...(placeholder ? [placeholderText(placeholder)] : []),
    editorTheme,
  ];
}
