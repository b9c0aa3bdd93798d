import { MarkdownBlock } from './MarkdownBlock';
import css from './markdown.module.css';

const FENCE = /```[^\n]*\n?([\s\S]*?)(?:```|$)/;

/** A small subset of Markdown for messages: never HTML, and only links to http and https. */
export function Markdown({ text }: { text: string }) {
  return <div className={css.markdown}>{text.split(FENCE).map(renderSection)}</div>;
}

/** Splitting at code fences alternates between text and code. */
function renderSection(section: string, index: number) {
  if (index % 2) {
    return (
      <pre key={index} tabIndex={0}>
        {section}
      </pre>
    );
  }
  const blocks = section.split(/\n{2,}/).filter((block) => block.trim() !== '');
  return blocks.map((block, at) => <MarkdownBlock key={`${index}.${at}`} text={block.trim()} />);
}
