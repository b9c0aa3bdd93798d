import { HighlightStyle } from '@codemirror/language';
import { EditorView } from '@codemirror/view';
import { tags } from '@lezer/highlight';

export const highlightStyle = HighlightStyle.define([
  { tag: [tags.keyword, tags.bool, tags.null], color: 'var(--code-keyword)' },
  { tag: [tags.string], color: 'var(--code-string)' },
  { tag: [tags.number], color: 'var(--code-number)' },
  { tag: [tags.propertyName, tags.function(tags.variableName)], color: 'var(--code-name)' },
  { tag: [tags.comment], color: 'var(--text-muted)' },
]);

export const editorTheme = EditorView.theme({
  '&': {
    fontSize: '13.5px',
    backgroundColor: 'var(--inset)',
    border: '1px solid var(--border-strong)',
    borderRadius: '10px',
  },
  '&.cm-focused': { outline: '2px solid var(--accent)', outlineOffset: '1px' },
  '.cm-scroller': {
    fontFamily: 'var(--monospace)',
    lineHeight: '1.55',
    minHeight: 'var(--editor-height)',
    maxHeight: '60vh',
    overflow: 'auto',
  },
  '.cm-content': { caretColor: 'var(--text)', padding: '10px 0' },
  '.cm-cursor': { borderLeftColor: 'var(--text)' },
  '.cm-gutters': { backgroundColor: 'transparent', color: 'var(--text-muted)', border: 'none' },
  '.cm-tooltip': {
    backgroundColor: 'var(--surface)',
    color: 'var(--text)',
    border: '1px solid var(--border-strong)',
    borderRadius: '8px',
  },
  '.cm-tooltip-autocomplete ul li[aria-selected]': {
    backgroundColor: 'var(--mantine-color-indigo-filled)',
    color: '#fff',
  },
  '.cm-placeholder': { color: 'var(--text-muted)' },
  '&.cm-focused .cm-selectionBackground, .cm-selectionBackground': {
    backgroundColor: 'var(--accent-background) !important',
  },
  '.cm-matchingBracket': { backgroundColor: 'var(--accent-background) !important' },
});
