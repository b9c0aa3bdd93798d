"""html_to_markdown: conversion rules and robustness."""

import os
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from onetool.sdk import html_to_markdown


@pytest.mark.guards("web-page")
@pytest.mark.parametrize(
    ("html", "markdown"),
    [
        ("<h2></h2><p>text", "text"),
        ("<b>b</b> <em>i</em> <del>d</del> x<sup>2</sup> H<sub>2</sub>O", "**b** *i* ~~d~~ x^2^ H~2~O"),
        ("<ul><li><p>a</p><p>b</p></li></ul><p>c", "- a\n\n  b\n\nc"),
        ("<ul><li>a<ol><li>b<ul><li>c</ul></ol><li>d</ul>", "- a\n  1. b\n     - c\n- d"),
        ("<ol><li>a<li>b</ol><ul><li>c</ul>", "1. a\n2. b\n\n- c"),
        ("<blockquote>a<p>b<br>c</blockquote>d", "> a\n>\n> b  \n> c\n\nd"),
        ("<pre><code>a &lt; b\n\n  c</code></pre>", "```\na < b\n\n  c\n```"),
        ('<pre><code class="language-python">x = 1</code></pre>', "```python\nx = 1\n```"),
        ("<pre>a\n```\nb</pre>", "````\na\n```\nb\n````"),
        ("<code>a `b` c</code>", "``a `b` c``"),
        ("a<hr>b", "a\n\n---\n\nb"),
        ("<table><tr><td>a<td><td>c|d</table>", "| a |  | c\\|d |\n| --- | --- | --- |"),
        ("<p># a</p><p>* b", "\\# a\n\n\\* b"),
        ('<a href="/x"><h3>a</h3><p>b</p></a>', "[a b](https://e.x/x)"),
        ('<a href="x"></a><a>a</a> <a href="#b">b</a> <a href="javascript:c">c</a>', "a b c"),
        (
            '<a href=" JavaScript:a">a</a> <a href="data:text/html,b">b</a> <a href="c d">c</a>',
            "a b [c](https://e.x/d/c%20d)",
        ),
        ('<base href="/y/"><base href="/z/"><a href="b">b</a>', "[b](https://e.x/y/b)"),
        ('<base href="/y/"><main><a href="b">b</a></main>', "[b](https://e.x/y/b)"),
        ('<base href="http://["><a href="b">b</a>', "[b](https://e.x/d/b)"),
        ('<a href="b"><img alt="a picture" src="x.png"></a>', "[a picture](https://e.x/d/b)"),
        ('<img alt="a chart" src="data:image/png;base64,AAAA">', "a chart"),
        ("1 < 2 <!-- <p> --> <? x ?> <!DOCTYPE x> & &amp; &nosuch;", "1 < 2 & & &nosuch;"),
        ("a<script>b</SCRIPT>c", "ac"),
        ("a<script>b", "a"),
        ("a<style>b", "a"),
        ("a<!-- b", "a"),
        ("a<title>b</title><template>c</template><noscript>d</noscript>", "a"),
        ("<nav>only", "only"),
        ("<div style='display: none'>a<div>b</div></div><span aria-hidden=true>c</span>d", "d"),
        ("<p hidden>a</p>b", "b"),
        ("a<main>b</main>c", "b"),
        ("a<MAIN class='x'>b</MAIN >c", "b"),
        ("<!-- <main>a</main> --><main>b</main><script>'<main>'</script>c", "b"),
        ("<article>a</article><article>b</article>", "a\n\nb"),
        ("x<article>a</article>y", "a"),
        ("<main></main>a", "a"),
        ("<main><nav>b</nav></main>a", "a"),
        ("</main>a<main>b", "a\n\nb"),
        ("<p>\ud800a", "?a"),
        ("", ""),
    ],
)
def test_conversion_rule(html, markdown):
    assert html_to_markdown(html, "https://e.x/d/") == markdown


def test_plain_text_has_no_markup():
    html = "<h1>a</h1><p><a href=b>b</a> <code>c</code> <b>d</b><pre>e</pre><ul><li>f"
    assert html_to_markdown(html, plain=True) == "a\n\nb c d\n\ne\n\n- f"


@pytest.mark.guards("web-page")
@pytest.mark.parametrize("tag", ["div", "ul><li", "blockquote", "table><tr><td", "b"])
def test_content_that_is_nested_too_deeply_is_reported(tag):
    """The rest of the page is converted."""
    text = html_to_markdown(f"<p>before</p>{f'<{tag}>' * 5_000}deep")
    assert text.startswith("before")
    assert text.endswith("[content nested deeper than 256 elements is missing]")
    assert len(text) < 1_000_000


def test_large_page_is_converted_like_a_small_one():
    """A child process converts it."""
    page = '<base href="/x/"><nav>a</nav><main><p>{}<a href="b">é</a></main>'
    small, large = (html_to_markdown(page.format("word " * count), "https://e.x/") for count in (1, 50_000))
    assert small == "word [é](https://e.x/x/b)"
    assert large == "word " * 50_000 + "[é](https://e.x/x/b)"
    assert html_to_markdown(page.format("word " * 50_000), plain=True) == "word " * 50_000 + "é"


@pytest.mark.guards("web-page")
@pytest.mark.linux
def test_conversion_of_a_large_page_does_not_hold_the_interpreter_lock():
    """Only the child process uses CPU time. Otherwise every other call would wait meanwhile."""
    html = "<font><p>x" * 50_000
    started, children = time.process_time(), os.times().children_user
    assert html_to_markdown(html)
    own, child = time.process_time() - started, os.times().children_user - children
    assert own < child / 5


@pytest.mark.guards("web-page")
@pytest.mark.linux
def test_page_that_needs_too_much_memory_is_an_error():
    """Linux limits the memory of the child process."""
    with pytest.raises(ValueError, match="its markup is too complex"):
        html_to_markdown("<p>x<br>" * 4_000_000)


@given(
    st.lists(
        st.sampled_from(
            [
                "<",
                ">",
                "/",
                "a",
                "p",
                "li",
                "ul",
                "td",
                "table",
                "pre",
                "main",
                " ",
                "=",
                "'",
                '"',
                "&",
                ";",
                "!--",
                "-->",
                "x",
                "href=y",
            ]
        )
    )
)
def test_any_input_is_converted_to_text(pieces):
    html = "".join(pieces)
    assert isinstance(html_to_markdown(html, "https://e.x/"), str)
    assert html_to_markdown(html).count("x") <= html.count("x")
