"""A web page as Markdown: its main content, without what surrounds it."""

import re
from collections.abc import Mapping
from urllib.parse import urljoin, urlsplit

from .html_tokens import Token, tokens

AROUND = (
    "script style nav footer aside noscript template iframe svg math canvas object video audio button select "
    "dialog textarea head noembed noframes"
)
APART = (
    "address article blockquote body center dd details div dl dt fieldset figcaption figure form h1 h2 h3 h4 "
    "h5 h6 header hgroup hr html li main ol p pre section summary table ul"
)
SKIPPED, BLOCKS = frozenset(AROUND.split()), frozenset(APART.split())
ROWS, CODE = frozenset({"td", "th", "tr"}), frozenset({"code", "kbd", "samp", "tt"})
HIDEABLE = frozenset({"div", "section", "span", "article", "header", "form", "ul", "ol", "table"})
"""They always have an end, so that it can be seen how far a hidden one goes."""
HEADINGS = {f"h{level}": "#" * level + " " for level in range(1, 7)}
DEEPEST = 8
"""Levels of lists and quotes that are shown; a page could have thousands."""
SPACES = re.compile(r"[^\S\n]+")
WHITE = re.compile(r"\s+")


def html_to_markdown(html: str, url: str = "", *, plain: bool = False) -> str:
    """Return the main content of a page: headings, lists, tables, code, and links made absolute by its URL.

    plain: only the text, without marks and the targets of links.
    """
    for skipped in (SKIPPED, frozenset({"script", "style", "head"})):
        page = _Page(url, plain, skipped)
        for token in tokens(html):
            page.take(token)
        if text := page.text():
            return text
    return ""


class _Page:
    """Takes tokens one after the other: however deep they nest, nothing here does."""

    def __init__(self, url: str, plain: bool, skipped: frozenset[str]) -> None:
        self._url, self._plain, self._skipped = url, plain, skipped
        self._blocks: list[tuple[int, str]] = []
        self._group = 0
        self._inline: list[str] = []
        self._prefix = self._pre = ""
        self._lists: list[int | None] = []
        self._quotes = self._tables = 0
        self._row: list[str] = []
        self._is_cell = self._is_first_row = self._has_base = False
        self._link: tuple[int, str] | None = None
        self._code: int | None = None
        self._hidden, self._depth = "", 0
        self._main: dict[str, list[int]] = {"main": [], "article": []}

    def take(self, token: Token) -> None:
        """Go on with the next token."""
        if self._hidden:
            self._pass_over(token)
        elif token.kind == "text":
            self._inline.append(token.text if self._pre else WHITE.sub(" ", token.text))
        elif token.kind == "close":
            self._close(token.name)
        elif token.name in self._skipped or (token.name in HIDEABLE and token.is_hidden):
            self._hidden, self._depth = token.name, 1
        else:
            self._open(token.name, token.attributes)

    def text(self) -> str:
        """The page as far as it has come; only its one main part, where it says which that is."""
        self._tables = min(self._tables, 1)
        self._close("table")
        self._end_block()
        blocks = self._blocks
        for bounds in self._main.values():
            if len(bounds) == 2 and any(text for _, text in blocks[slice(*bounds)]):
                blocks = blocks[slice(*bounds)]
                break
        written: list[str] = []
        for (group, text), before in zip(blocks, [(0, ""), *blocks], strict=False):
            written += ["\n" if group and group == before[0] else "\n\n", text]
        return "".join(written).strip()

    def _pass_over(self, token: Token) -> None:
        if token.name == self._hidden:
            self._depth += 1 if token.kind == "open" else -1
            self._hidden = self._hidden if self._depth else ""

    def _open(self, name: str, attributes: Mapping[str, str]) -> None:
        if name in BLOCKS:
            self._open_block(name)
        elif name in ROWS:
            self._end_cell(begins=name != "tr", is_row=name == "tr")
        elif name == "br":
            self._inline.append("\n")
        elif name == "a":
            self._end_link()
            self._link = (len(self._inline), attributes.get("href", ""))
        elif name in CODE and not self._pre and self._code is None:
            self._code = len(self._inline)
        elif name == "img":
            self._inline.append(WHITE.sub(" ", attributes.get("alt", "")))
        elif name == "base" and not self._has_base:
            self._has_base = True
            self._url = _absolute(self._url, attributes.get("href", "")) or self._url

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
            self._prefix = self._item()
        elif name == "hr":
            self._blocks.append((0, "---"))
        else:
            self._enter(name)

    def _enter(self, name: str) -> None:
        """Note that what follows is in a list, a quote, a table or code."""
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
            self._end_cell(is_row=name == "tr")
        elif name == "table" and self._tables:
            self._end_cell(is_row=True)
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

    def _item(self) -> str:
        indent = "  " * (min(len(self._lists), DEEPEST) - 1)
        if not self._lists or self._lists[-1] is None:
            return f"{indent}- "
        number = self._lists[-1]
        self._lists[-1] = number + 1
        return f"{indent}{number}. "

    def _end_cell(self, *, begins: bool = False, is_row: bool = False) -> None:
        """End a cell of a table, and its row; a table inside of a cell is a text of it."""
        if self._tables != 1:
            self._inline.append(" ")
            return
        text = WHITE.sub(" ", self._taken()).strip().replace("|", "\\|")
        if self._is_cell or text:
            self._row.append(text)
        self._is_cell = begins
        if is_row and any(self._row):
            self._blocks.append((self._group, f"| {' | '.join(self._row)} |"))
            if self._is_first_row and not self._plain:
                self._blocks.append((self._group, "| --- " * len(self._row) + "|"))
            self._is_first_row = False
        self._row = [] if is_row else self._row

    def _end_block(self) -> None:
        """Write what has come since the last block began."""
        text, fence = self._taken(), self._pre
        text = text.strip("\n") if fence else _lines(text)
        if not text.strip():
            return  # the mark of a list or a heading waits for its first text
        if fence and not self._plain:
            text = f"{fence}\n{text}\n{fence}"
        lead = self._prefix or ("" if fence else "  " * min(len(self._lists), DEEPEST))
        self._prefix = self._pre = ""
        mark = "> " * min(self._quotes, DEEPEST)
        text = (lead + text).replace("\n", f"\n{mark}")
        self._blocks.append((self._group if self._lists and not fence else 0, mark + text))

    def _taken(self) -> str:
        self._end_code()
        link = self._link
        self._end_link()
        text, self._inline = "".join(self._inline), []
        if link and not text.strip():
            self._link = (0, link[1])  # it goes around blocks: the first of them gets it
        return text

    def _end_link(self) -> None:
        if self._link is None:
            return
        (start, href), self._link = self._link, None
        text = WHITE.sub(" ", "".join(self._inline[start:]))
        is_shown = text.strip() and not self._plain
        if is_shown and (target := _absolute(self._url, href)):
            self._inline[start:] = [f"[{text.strip()}]({target})", " " if text.endswith(" ") else ""]

    def _end_code(self) -> None:
        if self._code is None:
            return
        start, self._code = self._code, None
        text = "".join(self._inline[start:])
        if text.strip() and not self._plain:
            self._inline[start:] = [f"`{text.strip()}`"]


def _lines(text: str) -> str:
    lines = (SPACES.sub(" ", line).strip() for line in text.split("\n"))
    return "\n".join(line for line in lines if line)


def _absolute(url: str, href: str) -> str:
    """Where a link leads; empty for a place on the same page and for what is no address."""
    href = href.strip()
    if not href or href.startswith("#"):
        return ""
    try:
        target = urljoin(url, href)
        scheme = urlsplit(target).scheme
    except ValueError:  # brackets that are no IPv6 address
        return ""
    if scheme not in ("http", "https", "mailto"):
        return ""
    return target.replace(" ", "%20").replace("(", "%28").replace(")", "%29")
