"""The web pack: pages as Markdown or text, from allowed addresses."""

import pytest

from onetool.sdk.page_converter import convert_page
from onetool.starter_packs import web
from onetool.testing import memory_runtime
from support.cpu_time import growth
from support.raw_http import RawHttpServer, raw_response

LOOPBACK = {"allowedHosts": ["127.0.0.1"]}
PAGE = """<html><head><title>T</title></head><body><nav><a href="/">Home</a></nav>
<main><h1>Big &amp; small</h1><p>See <a href="../a (b)">this
page</a> and <code>x = 1</code>.</main><footer>Imprint</footer></body></html>"""
MARKDOWN = "# Big & small\n\nSee [this page]({url}/a%20(b)) and `x = 1`."


@pytest.fixture
async def fetch():
    """Return a function that fetches a page from a server on loopback."""

    async def fetch_page(response, **args):
        handler = response if callable(response) else lambda request: response
        async with RawHttpServer(handler) as server:
            return await ot.call("web.fetch", url=f"{server.url}/d/e", **args), server

    async with memory_runtime(settings=LOOPBACK) as ot:
        yield fetch_page


def html(body, **headers):
    return raw_response(body, Content_Type=headers.pop("kind", "text/html"), **headers)


async def test_main_content_is_converted_to_markdown(fetch):
    result, server = await fetch(html(PAGE))
    assert result.data == MARKDOWN.format(url=server.url)


async def test_text_and_html_formats(fetch):
    """Text has no markup or link targets; HTML is unchanged."""
    plain, _ = await fetch(html(PAGE), format="text")
    assert plain.data == "Big & small\n\nSee this\npage and x = 1."
    raw, _ = await fetch(html(PAGE), format="html")
    assert raw.data == PAGE


async def test_long_page_is_truncated_with_a_notice(fetch):
    result, _ = await fetch(html("<p>" + "word " * 1000), max_chars=20)
    assert result.data == "word word word word\n\n[truncated: 4999 characters in total; max_chars is 20]"


async def test_charset_of_header_byte_order_mark_or_page_is_used(fetch):
    """Names that are not text encodings are ignored."""
    for kind, content, text in (
        ("text/html; charset=iso-8859-1", "<p>\u201cé\u20ac".encode("cp1252"), "\u201cé\u20ac"),
        ("text/html", '<meta charset="shift_jis"><p>日本'.encode("shift_jis"), "日本"),
        ("text/html", "<p>é".encode("utf-16"), "é"),
        ("text/html; charset=no-such", "<p>é".encode(), "é"),
        ("text/html; charset=zip", "<p>é".encode(), "é"),
        ("text/html; charset=punycode", b"<p>" + b"a" * 300_000 + b"-" + b"a" * 300_000, "a"),
        ("application/json; charset=utf-8", b'{"a": 1}', '{"a": 1}'),
        ("text/plain", b"<p>plain", "<p>plain"),
        ("", b"plain", "plain"),
        ("", b"<h1>sniffed", "# sniffed"),
    ):
        result, _ = await fetch(html(content, kind=kind))
        assert result.ok, result.error
        assert result.data.startswith(text), kind


async def test_binary_content_is_rejected(fetch):
    for kind, content in (
        ("application/pdf", b"%PDF-1.7"),
        ("image/png", b"\x89PNG"),
        ("", b"\0\1"),
        ("text/css", b"\0"),
    ):
        result, _ = await fetch(html(content, kind=kind))
        assert f"is {kind or 'binary'}. Only HTML, JSON and other text can be read" in result.error.message


async def test_error_status_is_an_error(fetch):
    result, _ = await fetch(raw_response("<p>sorry", 404, Content_Type="text/html"))
    assert "status 404" in result.error.message


async def test_only_http_urls_are_fetched():
    unsupported = ("file:///etc/passwd", "ftp://example.com/", "javascript:alert(1)", "example.com", "")
    invalid = ("http://[", "http://", "http://a\0b/", f"https://{'a' * 70}.example/", "http://1.2.3.4:99999/")
    async with memory_runtime() as ot:
        for url in unsupported:
            assert "Invalid URL" in (await ot.call("web.fetch", url=url)).error.message, url
        for url in invalid:
            assert "Cannot fetch" in (await ot.call("web.fetch", url=url)).error.message, url


async def test_private_addresses_are_rejected():
    """The operator can list them in `allowedHosts`."""
    async with RawHttpServer(lambda request: raw_response("secret")) as server, memory_runtime() as ot:
        result = await ot.call("web.fetch", url=server.url)
    assert "which is not public" in result.error.message
    assert server.requests == []


async def test_relative_links_are_resolved_against_the_final_url(fetch):
    pages = {"/d/e": raw_response("", 302, Location="/x/y"), "/x/y": html('<a href="z">Z</a>')}
    result, server = await fetch(lambda request: pages[request.target])
    assert result.data == f"[Z]({server.url}/x/z)"


async def test_redirect_to_a_private_address_is_rejected(fetch):
    for target in ("http://127.0.0.2/", "http://169.254.169.254/latest/meta-data", "http://[::1]/"):
        result, _ = await fetch(raw_response("", 302, Location=target))
        assert "which is not public" in result.error.message, target


async def test_invalid_and_endless_redirects_are_errors(fetch):
    for target in ("file:///etc/passwd", "/d/e", "http://[", "data:text/html,x"):
        result, server = await fetch(raw_response("", 302, Location=target))
        assert "Cannot fetch" in result.error.message, target
        assert len(server.requests) <= 11


@pytest.mark.guards("web-page")
async def test_huge_page_is_rejected(fetch, monkeypatch):
    """The limit applies to decompressed bytes."""
    monkeypatch.setattr(web, "MAX_BYTES", 100_000)
    for zipped in (False, True):
        result, _ = await fetch(raw_response("x" * 3_000_000, gzipped=zipped, Content_Type="text/html"))
        assert "is larger than 100000 bytes" in result.error.message


@pytest.mark.guards("web-page")
@pytest.mark.parametrize(
    "markup",
    [
        "<a ",
        "<a x='",
        "<!--",
        "<![CDATA[",
        "<ul><li>x",
        "<blockquote>x",
        "<table><tr><td>",
        "<pre>",
        "<main ",
        "<base ",
    ],
)
async def test_markup_bombs_take_linear_time(fetch, markup):
    """Python's own parser takes quadratic time for the first two."""
    result, _ = await fetch(html(markup * 5_000))
    assert len(result.data) <= 20_100
    assert growth(lambda count: convert_page(markup * count, "", plain=False), 500, 10_000) < 6


async def test_fetch_all_returns_sections_in_order_with_errors():
    pages = {"/1": html("<p>one"), "/3": html("<p>three")}
    upstream = RawHttpServer(lambda request: pages.get(request.target, raw_response("", 404)))
    async with upstream as server, memory_runtime(settings=LOOPBACK) as ot:
        urls = [f"{server.url}/{number}" for number in (1, 2, 3)]
        result = await ot.call("web.fetch_all", urls=urls, format="text")
    one, two, three = result.data.split("\n\n")
    assert one == f"=== {urls[0]} ===\none"
    assert "Error:" in two
    assert "status 404" in two
    assert three == f"=== {urls[2]} ===\nthree"


async def test_number_of_pages_is_limited():
    async with memory_runtime() as ot:
        many = await ot.call("web.fetch_all", urls=["no URL"] * 50)
        too_many = await ot.call("web.fetch_all", urls=["no URL"] * 51)
    assert many.data.count("=== no URL ===") == 50
    assert "Too many URLs: 51" in too_many.error.message
