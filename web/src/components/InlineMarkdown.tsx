import { INLINE_CODE, renderInline } from './renderInline';

/** A line of text with `code` spans. Links are not rendered because the text may quote untrusted content. */
export function InlineMarkdown({ text }: { text: string }) {
  return renderInline(text, INLINE_CODE);
}
