// What a model says, with the little formatting that helps to read it: never HTML, links to http(s) alone.
import { Fragment, type ReactNode } from 'react';
import css from './markdown.module.css';

const FENCE = /```[^\n]*\n?([\s\S]*?)(?:```|$)/;
// No mark is looked for beyond the next one of its kind: the time grows with the text, whatever stands in it.
const INLINE = /(`[^`\n]+`|\*\*[^*\n]+\*\*|\[[^[\]\n]+\]\([^\s()[\]]+\))/;
const CODE = /(`[^`\n]+`)/;

export function Markdown({ text }: { text: string }) {
  const parts = text.split(FENCE);
  return (
    <div className={css.text}>
      {parts.map((part, at) => (at % 2 ? <pre key={at} tabIndex={0}>{part}</pre> : <Blocks key={at} text={part} />))}
    </div>
  );
}

function Blocks({ text }: { text: string }) {
  return text
    .split(/\n{2,}/)
    .filter((block) => block.trim() !== '')
    .map((block, at) => <Block key={at} text={block.trim()} />);
}

function Block({ text }: { text: string }) {
  const lines = text.split('\n');
  const heading = lines.length === 1 ? /^#{1,6} (.*)$/.exec(text) : null;
  if (heading) return <p className={css.heading}>{inline(heading[1]!.trim())}</p>;
  if (lines.every((line) => /^\s*[-*] /.test(line))) return <ul>{items(lines, /^\s*[-*] /)}</ul>;
  if (lines.every((line) => /^\s*\d+[.)] /.test(line))) return <ol>{items(lines, /^\s*\d+[.)] /)}</ol>;
  return <p>{inline(text)}</p>;
}

const items = (lines: string[], mark: RegExp) => lines.map((line, at) => <li key={at}>{inline(line.replace(mark, ''))}</li>);

/** A line with `code` in it, and with no links: it may repeat what others wrote. */
export function Inline({ text }: { text: string }) {
  return inline(text, CODE);
}

function inline(text: string, marks = INLINE): ReactNode[] {
  return text.split(marks).map((part, at) => <Fragment key={at}>{at % 2 ? formatted(part) : part}</Fragment>);
}

function formatted(part: string): ReactNode {
  if (part.startsWith('`')) return <code>{part.slice(1, -1)}</code>;
  if (part.startsWith('**')) return <strong>{part.slice(2, -2)}</strong>;
  const [, words, address] = /^\[(.+)\]\((.+)\)$/.exec(part) ?? [];
  return words && address && isWeb(address) ? (
    <a href={address} target="_blank" rel="noopener noreferrer">
      {words}
    </a>
  ) : (
    part
  );
}

/** Whether an address leads to the web; `javascript:` and its like do not. */
export function isWeb(address: string): boolean {
  try {
    return ['http:', 'https:'].includes(new URL(address).protocol);
  } catch {
    return false;
  }
}
