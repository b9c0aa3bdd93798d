import { Fragment, type ReactNode } from 'react';

// No pattern matches past the next delimiter of its kind, so the time is linear in the length of the text.
export const INLINE_MARKUP = /(`[^`\n]+`|\*\*[^*\n]+\*\*|\[[^[\]\n]+\]\([^\s()[\]]+\))/;
export const INLINE_CODE = /(`[^`\n]+`)/;

/** Render inline Markdown: code, bold text and web links. `markup` selects what is recognized. */
export function renderInline(text: string, markup = INLINE_MARKUP): ReactNode[] {
  return text
    .split(markup)
    .map((part, index) => <Fragment key={index}>{index % 2 ? renderSpan(part) : part}</Fragment>);
}

function renderSpan(span: string): ReactNode {
  if (span.startsWith('`')) return <code>{span.slice(1, -1)}</code>;
  if (span.startsWith('**')) return <strong>{span.slice(2, -2)}</strong>;
  const [, label, url] = /^\[(.+)\]\((.+)\)$/.exec(span) ?? [];
  if (!label || !url || !isWebUrl(url)) return span;
  return (
    <a href={url} target="_blank" rel="noopener noreferrer">
      {label}
    </a>
  );
}

/** Return whether a URL uses http or https, unlike `javascript:` and similar schemes. */
export function isWebUrl(url: string): boolean {
  try {
    return ['http:', 'https:'].includes(new URL(url).protocol);
  } catch {
    return false;
  }
}
