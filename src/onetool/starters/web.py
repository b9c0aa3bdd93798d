"""web: read pages of the open web."""

from typing import Literal

from onetool.sdk import Fetched, batch_execute, fetch_url, html_to_markdown, tool

pack = "web"

MOST_BYTES = 4 * 2**20
MOST_PAGES = 50
MARKUP = ("text/html", "application/xhtml+xml")
READABLE = ("json", "xml", "javascript", "yaml", "toml")
HEADERS = {
    "User-Agent": "Mozilla/5.0 (compatible; OneTool)",
    "Accept": "text/html,application/xhtml+xml,application/json;q=0.9,text/*;q=0.8,*/*;q=0.1",
}

Format = Literal["markdown", "text", "html"]


@tool(timeout=30, parallel=True, tags=["page", "http"])
def fetch(url: str, format: Format = "markdown", max_chars: int = 20_000) -> str:
    """Read a web page: its main content as Markdown, without navigation, scripts and styles.

    Args:
        url: An http or https address; other schemes and private addresses are refused.
        format: `markdown`, `text` without marks and links, or `html` as it came; other text stays as it is.
        max_chars: Longest text to return; the rest is cut off and counted.

    Returns:
        The text of the page.

    Example:
        web.fetch(url="https://example.com")
    """
    return _cut(_text(_read(url), format), max_chars)


@tool(timeout=60, parallel=True, tags=["page", "http"])
def fetch_all(urls: list[str], format: Format = "markdown", max_chars: int = 10_000) -> str:
    """Read several web pages at once, each under its address; one that fails says why and stops no other.

    Args:
        urls: The addresses, 50 at most.
        format: As for web.fetch.
        max_chars: Longest text to return of each page.

    Returns:
        A section for each page, in the order of the addresses.

    Example:
        web.fetch_all(urls=["https://example.com", "https://example.org"], format="text")
    """
    if len(urls) > MOST_PAGES:
        raise ValueError(f"{len(urls)} addresses are too many at once; give {MOST_PAGES} at most.")
    return batch_execute(urls, lambda url: fetch(url, format, max_chars))


def _read(url: str) -> Fetched:
    if not url.lower().startswith(("http://", "https://")):
        raise ValueError(f"{url!r} is no web address; it begins with https:// or http://.")
    page = fetch_url(url, max_bytes=MOST_BYTES, headers=HEADERS)
    if page.status >= 400:
        raise ConnectionError(f"{page.url!r} answered with status {page.status}; there is no page to read.")
    return page


def _text(page: Fetched, format: Format) -> str:
    kind = page.content_type.partition(";")[0].strip().lower()
    if kind in MARKUP or (not kind and b"<" in page.content[:100]):
        html = page.text()
        return html if format == "html" else html_to_markdown(html, page.url, plain=format == "text")
    is_text = not kind or kind.startswith("text/") or any(word in kind for word in READABLE)
    if is_text and (b"\0" not in page.content[:1000] or "charset" in page.content_type):
        return page.text()
    raise ValueError(f"{page.url!r} is {kind or 'binary'}; only HTML, JSON and other text can be read here.")


def _cut(text: str, most: int) -> str:
    if len(text) <= most:
        return text
    kept = text[: max(0, most)].rstrip()
    return f"{kept}\n\n[cut off here: {len(text)} characters in all; max_chars is {most}]"
