"""Choice of a web page's main content, and its conversion to Markdown.

Also a program: it reads a JSON object with the arguments of `convert_page` and writes the text. It imports no
other module of OneTool, so that it starts fast.
"""

import json
import re
import sys
from typing import Any
from urllib.parse import urljoin

from html_to_markdown import ConversionOptions, PreprocessingOptions, WarningKind, convert

BOILERPLATE_TAGS = (
    "nav footer aside noscript template iframe svg math canvas object video audio button select dialog "
    "textarea head title noembed noframes"
)
BOILERPLATE = [*BOILERPLATE_TAGS.split(), '[aria-hidden="true"]']
"""Selectors of elements that are not content. Hidden elements, scripts and styles are never converted."""
MAX_DEPTH = 256
"""Levels of elements that are converted. The memory for nested quotes grows with the square of the depth."""
MAX_MEMORY = 2**30
"""Address space of the program in bytes, where the system can limit it."""
SCHEMES = ("http://", "https://", "mailto:")
RAW_OR_MAIN = re.compile(
    r"<(?:!--|(script|style)\b).*?(?:(?(1)</\1|-->)|(?P<cut>\Z))|<(?P<end>/?)(?P<name>main|article)(?=[\s/>])",
    re.IGNORECASE | re.DOTALL,
)
"""Matches comments, scripts and styles, and outside them the tags of main elements, in linear time."""
DEPTH_NOTICE = f"[content nested deeper than {MAX_DEPTH} elements is missing]"
BASE = re.compile(r"""<base\s[^<>]*?href\s*=\s*["']?([^"'<>\s]*)""", re.IGNORECASE)


def convert_page(html: str, url: str, *, plain: bool) -> str:
    """Return the main content of a page as Markdown or, if `plain`, as text without markup and links."""
    html = html.encode(errors="replace").decode()
    end, elements = _scan(html)
    base = BASE.search(html)
    writer = _PageWriter(_join(url, base[1]) if base else url, plain)
    for start, stop in [*elements, (0, end)]:
        if text := writer.convert(html[start:stop], BOILERPLATE):
            return text
    return writer.convert(html[:end], ["head", "title"])


class _PageWriter:
    """Converts the elements of one page."""

    def __init__(self, url: str, plain: bool) -> None:
        self._url, self._plain = url, plain
        self._fragment = url.partition("#")[0] + "#"

    def convert(self, html: str, excluded: list[str]) -> str:
        """Convert HTML without the elements that a selector matches."""
        options = ConversionOptions(
            output_format="plain" if self._plain else "markdown",
            base_url=self._url or None,
            bullets="-",
            sup_symbol="^",
            sub_symbol="~",
            highlight_style="none",
            compact_tables=True,
            autolinks=False,
            extract_metadata=False,
            include_blockquote_citations=False,
            preprocessing=PreprocessingOptions(enabled=False),
            max_depth=MAX_DEPTH,
            exclude_selectors=excluded,
        )
        visitor: Any = None if self._plain else self
        result = convert(html, options, visitor)
        text = (result.content or "").strip()
        is_cut = any(warning.kind == WarningKind.DEPTH_LIMIT_EXCEEDED for warning in result.warnings)
        return f"{text}\n\n{DEPTH_NOTICE}".strip() if is_cut else text

    def visit_link(self, context: object, href: str, text: str, title: str) -> dict[str, str]:
        """Return the text alone for a link to this page or with a scheme that no tool fetches."""
        is_useful = text.strip() and href.startswith(SCHEMES) and not href.startswith(self._fragment)
        return {"type": "continue"} if is_useful else {"type": "custom", "output": text}

    def visit_image(self, context: object, source: str, alt: str, title: str) -> dict[str, str]:
        """Return the description alone. A model cannot see the image, and its URL may contain the data."""
        return {"type": "custom", "output": alt}


def _scan(html: str) -> tuple[int, list[tuple[int, int]]]:
    """Return the end of the content, and the main element and the article if the page has exactly one.

    A comment, script or style without an end tag extends to the end of the page.
    """
    end = len(html)
    tags: dict[str, list[tuple[bool, int]]] = {"main": [], "article": []}
    for match in RAW_OR_MAIN.finditer(html):
        if name := match["name"]:
            tags[name.lower()].append((match["end"] == "/", match.start()))
        elif match["cut"] is not None:
            end = match.start()
    pairs = [found for found in tags.values() if [is_end for is_end, _ in found] == [False, True]]
    return end, [(start, stop) for (_, start), (_, stop) in pairs]


def _join(url: str, base: str) -> str:
    try:
        return urljoin(url, base)
    except ValueError:  # brackets without an IPv6 address
        return url


def main() -> None:
    """Convert the page of the request on standard input."""
    if sys.platform == "linux":
        import resource

        resource.setrlimit(resource.RLIMIT_AS, (MAX_MEMORY, MAX_MEMORY))
    request = json.load(sys.stdin.buffer)
    sys.stdout.buffer.write(convert_page(**request).encode())


if __name__ == "__main__":
    main()
