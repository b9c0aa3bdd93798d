import { renderToStaticMarkup } from 'react-dom/server';
import { expect, test } from 'vitest';
import { InlineMarkdown } from '~/components/InlineMarkdown';
import { Markdown } from '~/components/Markdown';
import { isWebUrl } from '~/components/renderInline';

test.each(['[', '[a](', '**', '`', '[a', '- [x](h', '# '])('rendering %j many times takes linear time', (piece) => {
  const render = (times: number) => {
    const startedAt = performance.now();
    renderToStaticMarkup(<Markdown text={piece.repeat(times)} />);
    return performance.now() - startedAt;
  };
  render(1000);
  expect(render(60_000)).toBeLessThan(3000);
});

test('messages have links, inline text has none', () => {
  const text = 'Read [this](https://a.example/x), then `do` it.';
  expect(renderToStaticMarkup(<Markdown text={text} />)).toContain('<a href="https://a.example/x"');
  const inline = renderToStaticMarkup(<InlineMarkdown text={text} />);
  expect(inline).toContain('<code>do</code>');
  expect(inline).not.toContain('<a ');
});

test('only http and https are web URLs', () => {
  expect(['https://a.example', 'http://a.example'].every(isWebUrl)).toBe(true);
  expect(['javascript:alert(1)', 'data:text/html,x', 'JaVaScRiPt:1', '/a', 'vbscript:x'].some(isWebUrl)).toBe(false);
});
