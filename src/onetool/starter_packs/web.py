"""web: read web pages."""

from typing import Literal

from onetool.sdk import FetchedPage, batch_execute, fetch_url, html_to_markdown, tool

pack = "web"

MAX_BYTES = 4 * 2**20
MAX_PAGES = 50
MARKUP = ("text/html", "application/xhtml+xml")
READABLE = ("json", "xml", "javascript", "yaml", "toml")
HEADERS = {
    "User-Agent": "Mozilla/5.0 (compatible; OneTool)",
    "Accept": "text/html,application/xhtml+xml,application/json;q=0.9,text/*;q=0.8,*/*;q=0.1",
}

Format = Literal["markdown", "text", "html"]


@tool(timeout=30, parallel=True, tags=["page", "http"])
def fetch(url: str, format: Format = "markdown", max_chars: int = 20_000) -> str:
    """Read the main content of a web page as Markdown, without navigation, scripts and styles.

    Args:
        url: An http or https URL. Private addresses are rejected.
        format: `markdown`, `text` (no markup or links) or `html`. Content other than HTML is not converted.
        max_chars: Maximum length of the text; the rest is truncated.

    Returns:
        The text of the page.

    Example:
        web.fetch(url="https://example.com")
    """
    return _truncate(_text(_fetch(url), format), max_chars)


@tool(timeout=60, parallel=True, tags=["page", "http"])
def fetch_all(urls: list[str], format: Format = "markdown", max_chars: int = 10_000) -> str:
    """Read several web pages at once. If a page fails, its section contains the error.

    Args:
        urls: The URLs, at most 50.
        format: As for web.fetch.
        max_chars: Maximum length of the text of each page.

    Returns:
        A section for each page, in the order of the URLs.

    Example:
        web.fetch_all(urls=["https://example.com", "https://example.org"], format="text")
    """
    if len(urls) > MAX_PAGES:
        raise ValueError(f"Too many URLs: {len(urls)}. Pass at most {MAX_PAGES}.")
    return batch_execute(urls, lambda url: fetch(url, format, max_chars))


def _fetch(url: str) -> FetchedPage:
    if not url.lower().startswith(("http://", "https://")):
        raise ValueError(f"Invalid URL {url!r}. It must start with https:// or http://.")
    page = fetch_url(url, max_bytes=MAX_BYTES, headers=HEADERS)
    if page.status >= 400:
        raise ConnectionError(f"{page.url!r} returned status {page.status}.")
    return page


def _text(page: FetchedPage, format: Format) -> str:
    kind = page.content_type.partition(";")[0].strip().lower()
    if kind in MARKUP or (not kind and b"<" in page.content[:100]):
        html = page.text()
        return html if format == "html" else html_to_markdown(html, page.url, plain=format == "text")
    is_text = not kind or kind.startswith("text/") or any(word in kind for word in READABLE)
    if is_text and (b"\0" not in page.content[:1000] or "charset" in page.content_type):
        return page.text()
    raise ValueError(f"{page.url!r} is {kind or 'binary'}. Only HTML, JSON and other text can be read.")


def _truncate(text: str, max_chars: int) -> str:
    if len(text) <= max_chars:
        return text
    beginning = text[: max(0, max_chars)].rstrip()
    return f"{beginning}\n\n[truncated: {len(text)} characters in total; max_chars is {max_chars}]"
