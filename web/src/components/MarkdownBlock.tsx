import css from './markdown.module.css';
import { renderInline } from './renderInline';

const BULLET = /^\s*[-*] /;
const NUMBER = /^\s*\d+[.)] /;

/** A heading, a list or a paragraph. */
export function MarkdownBlock({ text }: { text: string }) {
  const lines = text.split('\n');
  const heading = lines.length === 1 ? /^#{1,6} (.*)$/.exec(text)?.[1] : undefined;
  if (heading !== undefined) return <p className={css.heading}>{renderInline(heading.trim())}</p>;
  if (lines.every((line) => BULLET.test(line))) return <ul>{renderItems(lines, BULLET)}</ul>;
  if (lines.every((line) => NUMBER.test(line))) return <ol>{renderItems(lines, NUMBER)}</ol>;
  return <p>{renderInline(text)}</p>;
}

function renderItems(lines: string[], marker: RegExp) {
  return lines.map((line, index) => <li key={index}>{renderInline(line.replace(marker, ''))}</li>);
}
