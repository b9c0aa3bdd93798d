"""Conversion of a web page's main content to Markdown."""

import re
from collections.abc import Mapping
from urllib.parse import urljoin, urlsplit

from .html_tokens import HtmlToken, tokens

BOILERPLATE_TAGS = (
    "script style nav footer aside noscript template iframe svg math canvas object video audio button select "
    "dialog textarea head noembed noframes"
)
BLOCK_TAGS = (
    "address article blockquote body center dd details div dl dt fieldset figcaption figure form h1 h2 h3 h4 "
    "h5 h6 header hgroup hr html li main ol p pre section summary table ul"
)
BOILERPLATE, BLOCKS = frozenset(BOILERPLATE_TAGS.split()), frozenset(BLOCK_TAGS.split())
ROWS, CODE = frozenset({"td", "th", "tr"}), frozenset({"code", "kbd", "samp", "tt"})
HIDEABLE = frozenset({"div", "section", "span", "article", "header", "form", "ul", "ol", "table"})
"""Elements with a mandatory end tag, so that the extent of a hidden element is known."""
HEADINGS = {f"h{level}": "#" * level + " " for level in range(1, 7)}
MAX_NESTING = 8
"""Levels of lists and quotes that are rendered; a page could have thousands."""
SPACE_RUN = re.compile(r"[^\S\n]+")
WHITESPACE_RUN = re.compile(r"\s+")


def html_to_markdown(html: str, url: str = "", *, plain: bool = False) -> str:
    """Return the main content of a page as Markdown, with links made absolute by `url`.

    plain: return text only, without markup and link targets.
    """
    for skipped in (BOILERPLATE, frozenset({"script", "style", "head"})):
        writer = _MarkdownWriter(url, plain, skipped)
        for token in tokens(html):
            writer.feed(token)
        if text := writer.text():
            return text
    return ""


class _MarkdownWriter:
    """Writes Markdown from a stream of tokens, without recursion however deeply they nest."""

    def __init__(self, url: str, plain: bool, skipped: frozenset[str]) -> None:
        self._url, self._plain, self._skipped = url, plain, skipped
        self._blocks: list[tuple[int, str]] = []
        self._group = 0
        self._inline: list[str] = []
        self._prefix = self._pre = ""
        self._lists: list[int | None] = []
        self._quotes = self._tables = 0
        self._row: list[str] = []
        self._in_cell = self._is_first_row = self._has_base = False
        self._link: tuple[int, str] | None = None
        self._code: int | None = None
        self._hidden, self._depth = "", 0
        self._main: dict[str, list[int]] = {"main": [], "article": []}

    def feed(self, token: HtmlToken) -> None:
        """Process the next token."""
        if self._hidden:
            self._skip(token)
        elif token.kind == "text":
            self._inline.append(token.text if self._pre else WHITESPACE_RUN.sub(" ", token.text))
        elif token.kind == "close":
            self._close(token.name)
        elif token.name in self._skipped or (token.name in HIDEABLE and token.is_hidden):
            self._hidden, self._depth = token.name, 1
        else:
            self._open(token.name, token.attributes)

    def text(self) -> str:
        """Return the text so far: only the main or article element if the page has exactly one."""
        self._tables = min(self._tables, 1)
        self._close("table")
        self._end_block()
        blocks = self._blocks
        for bounds in self._main.values():
            if len(bounds) == 2 and any(text for _, text in blocks[slice(*bounds)]):
                blocks = blocks[slice(*bounds)]
                break
        parts: list[str] = []
        for (group, text), previous in zip(blocks, [(0, ""), *blocks], strict=False):
            parts += ["\n" if group and group == previous[0] else "\n\n", text]
        return "".join(parts).strip()

    def _skip(self, token: HtmlToken) -> None:
        if token.name == self._hidden:
            self._depth += 1 if token.kind == "open" else -1
            self._hidden = self._hidden if self._depth else ""

    def _open(self, name: str, attributes: Mapping[str, str]) -> None:
        if name in BLOCKS:
            self._open_block(name)
        elif name in ROWS:
            self._end_cell(starts_cell=name != "tr", ends_row=name == "tr")
        elif name == "br":
            self._inline.append("\n")
        elif name == "a":
            self._end_link()
            self._link = (len(self._inline), attributes.get("href", ""))
        elif name in CODE and not self._pre and self._code is None:
            self._code = len(self._inline)
        elif name == "img":
            self._inline.append(WHITESPACE_RUN.sub(" ", attributes.get("alt", "")))
        elif name == "base" and not self._has_base:
            self._has_base = True
            self._url = _absolute_url(self._url, attributes.get("href", "")) or self._url

    def _open_block(self, name: str) -> None:
        if self._pre or self._tables:
            self._tables += name == "table" and not self._pre
            self._inline.append("\n" if self._pre else " ")
            return
        self._end_block()
        if name in self._main:
            self._main[name].append(len(self._blocks))
        elif name in HEADINGS:
            self._prefix = "" if self._plain else HEADINGS[name]
        elif name == "li":
            self._prefix = self._item_prefix()
        elif name == "hr":
            self._blocks.append((0, "---"))
        else:
            self._enter_container(name)

    def _enter_container(self, name: str) -> None:
        """Record that the following content is in a list, quote, table or code block."""
        if name in ("ul", "ol"):
            self._group += not self._lists
            self._lists.append(1 if name == "ol" else None)
        elif name == "blockquote":
            self._quotes += 1
        elif name == "pre":
            self._pre = "```"
        elif name == "table":
            self._tables += 1
            self._group += 1
            self._is_first_row = True

    def _close(self, name: str) -> None:
        if name == "a":
            self._end_link()
        elif name in CODE:
            self._end_code()
        elif name in ROWS:
            self._end_cell(ends_row=name == "tr")
        elif name == "table" and self._tables:
            self._end_cell(ends_row=True)
            self._tables -= 1
        elif name in BLOCKS and not self._tables and (not self._pre or name == "pre"):
            self._close_block(name)

    def _close_block(self, name: str) -> None:
        self._end_block()
        if name in ("li", "pre") or name in HEADINGS:
            self._prefix = self._pre = ""
        if name in self._main:
            self._main[name].append(len(self._blocks))
        elif name in ("ul", "ol") and self._lists:
            self._lists.pop()
        elif name == "blockquote" and self._quotes:
            self._quotes -= 1

    def _item_prefix(self) -> str:
        indent = "  " * (min(len(self._lists), MAX_NESTING) - 1)
        if not self._lists or self._lists[-1] is None:
            return f"{indent}- "
        number = self._lists[-1]
        self._lists[-1] = number + 1
        return f"{indent}{number}. "

    def _end_cell(self, *, starts_cell: bool = False, ends_row: bool = False) -> None:
        """End a table cell, and optionally its row. A nested table becomes text of the outer cell."""
        if self._tables != 1:
            self._inline.append(" ")
            return
        text = WHITESPACE_RUN.sub(" ", self._take_inline()).strip().replace("|", "\\|")
        if self._in_cell or text:
            self._row.append(text)
        self._in_cell = starts_cell
        if ends_row and any(self._row):
            self._blocks.append((self._group, f"| {' | '.join(self._row)} |"))
            if self._is_first_row and not self._plain:
                self._blocks.append((self._group, "| --- " * len(self._row) + "|"))
            self._is_first_row = False
        self._row = [] if ends_row else self._row

    def _end_block(self) -> None:
        """Write the text collected since the last block ended."""
        text, fence = self._take_inline(), self._pre
        text = text.strip("\n") if fence else _normalize_lines(text)
        if not text.strip():
            return  # keep the list or heading prefix for the first text
        if fence and not self._plain:
            text = f"{fence}\n{text}\n{fence}"
        lead = self._prefix or ("" if fence else "  " * min(len(self._lists), MAX_NESTING))
        self._prefix = self._pre = ""
        mark = "> " * min(self._quotes, MAX_NESTING)
        text = (lead + text).replace("\n", f"\n{mark}")
        self._blocks.append((self._group if self._lists and not fence else 0, mark + text))

    def _take_inline(self) -> str:
        self._end_code()
        link = self._link
        self._end_link()
        text, self._inline = "".join(self._inline), []
        if link and not text.strip():
            self._link = (0, link[1])  # the link encloses blocks: apply it to the first one
        return text

    def _end_link(self) -> None:
        if self._link is None:
            return
        (start, href), self._link = self._link, None
        text = WHITESPACE_RUN.sub(" ", "".join(self._inline[start:]))
        is_visible = text.strip() and not self._plain
        if is_visible and (target := _absolute_url(self._url, href)):
            self._inline[start:] = [f"[{text.strip()}]({target})", " " if text.endswith(" ") else ""]

    def _end_code(self) -> None:
        if self._code is None:
            return
        start, self._code = self._code, None
        text = "".join(self._inline[start:])
        if text.strip() and not self._plain:
            self._inline[start:] = [f"`{text.strip()}`"]


def _normalize_lines(text: str) -> str:
    lines = (SPACE_RUN.sub(" ", line).strip() for line in text.split("\n"))
    return "\n".join(line for line in lines if line)


def _absolute_url(url: str, href: str) -> str:
    """Return the absolute URL of a link, or an empty string for fragments and unsupported schemes."""
    href = href.strip()
    if not href or href.startswith("#"):
        return ""
    try:
        target = urljoin(url, href)
        scheme = urlsplit(target).scheme
    except ValueError:  # brackets without an IPv6 address
        return ""
    if scheme not in ("http", "https", "mailto"):
        return ""
    return target.replace(" ", "%20").replace("(", "%28").replace(")", "%29")
