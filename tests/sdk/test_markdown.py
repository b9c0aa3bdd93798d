"""html_to_markdown: conversion rules and robustness."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from onetool.sdk import html_to_markdown


@pytest.mark.parametrize(
    ("html", "markdown"),
    [
        ("<h2></h2><p>text", "text"),
        ("<ul><li><p>a</p><p>b</p></li><li></li></ul><p>c", "- a\n  b\n\nc"),
        ("<ul><li>a<ul><li>b</ul><li>c</ul>", "- a\n  - b\n- c"),
        ("<ol><li>a<li>b</ol><ul><li>c</ul>", "1. a\n2. b\n\n- c"),
        ("<li>loose", "- loose"),
        ("<blockquote>a<p>b<br>c</blockquote>d", "> a\n\n> b\n> c\n\nd"),
        ("<pre><code>a &lt; b\n\n  c</code></pre>", "```\na < b\n\n  c\n```"),
        ("<pre><div>a</div><div>b</div></pre>c", "```\na\nb\n```\n\nc"),
        ("<pre></pre><p>a", "a"),
        ("a<hr>b", "a\n\n---\n\nb"),
        ("<dl><dt>a<dd>b</dl>", "a\n\nb"),
        ("<table><tr><td>a<td><td>c</table>", "| a |  | c |\n| --- | --- | --- |"),
        ("<table><tr><td>a<table><tr><td>b</table></table>", "| a b |\n| --- |"),
        ("<table><caption>t</caption><tr><td><p>a</p><p>b</p></table>", "| t |\n| --- |\n| a b |"),
        ("<tr><td>a", "a"),
        ("</table></ul></blockquote></a></code>a", "a"),
        ('<a href="/x"><h3>a</h3><p>b</p></a>', "### [a](https://e.x/x)\n\nb"),
        ('<a href="x"></a><a>a</a> <a href="#b">b</a> <a href="javascript:c">c</a>', "a b c"),
        ('<a href="http://[">a</a> <a href="b">b', "a [b](https://e.x/d/b)"),
        ('<base href="/y/"><base href="/z/"><a href="b">b</a>', "[b](https://e.x/y/b)"),
        ('<a href="b"><img alt="a picture"></a>', "[a picture](https://e.x/d/b)"),
        ("<code>a</code><code> </code><kbd>b", "`a` `b`"),
        ("1 < 2 <3> <!-- <p> --> <? x ?> <!DOCTYPE x> & &amp; &nosuch;", "1 < 2 <3> & & &nosuch;"),
        ("&#" + "9" * 5000 + ";", "&#" + "9" * 5000 + ";"),
        ("<p title='>' =x a=b c = \"d\" e='>a</p>", "a"),
        ("a<script>b</SCRIPT>c<style>d", "ac"),
        ("<nav>only", "only"),
        ("<div style='display: none'>a<div>b</div></div><span aria-hidden=true>c</span>d", "d"),
        ("a<main>b</main>c", "b"),
        ("<article>a</article><article>b</article>", "a\n\nb"),
        ("x<article>a</article>y", "a"),
        ("<main></main>a", "a"),
        ("", ""),
    ],
)
def test_conversion_rule(html, markdown):
    assert html_to_markdown(html, "https://e.x/d/") == markdown


def test_plain_text_has_no_markup_except_lists_and_tables():
    html = "<h1>a</h1><p><a href=b>b</a> <code>c</code><pre>d</pre><table><tr><td>e"
    assert html_to_markdown(html, plain=True) == "a\n\nb c\n\nd\n\n| e |"


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
