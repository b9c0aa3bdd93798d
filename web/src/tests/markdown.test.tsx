import { renderToStaticMarkup } from 'react-dom/server';
import { expect, test } from 'vitest';
import { Inline, Markdown } from '~/parts/Markdown';

test.each(['[', '[a](', '**', '`', '[a', '- [x](h', '# '])('the time that %j takes grows no faster than the text', (piece) => {
  const took = (times: number) => {
    const begun = performance.now();
    renderToStaticMarkup(<Markdown text={piece.repeat(times)} />);
    return performance.now() - begun;
  };
  took(1000);
  expect(took(60_000)).toBeLessThan(3000);
});

test('an answer has links, and what repeats the words of others has none', () => {
  const text = 'Read [this](https://a.example/x), then `do` it.';
  expect(renderToStaticMarkup(<Markdown text={text} />)).toContain('<a href="https://a.example/x"');
  const line = renderToStaticMarkup(<Inline text={text} />);
  expect(line).toContain('<code>do</code>');
  expect(line).not.toContain('<a ');
});
