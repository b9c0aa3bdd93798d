"""HTML as a stream of tags and texts, in linear time whatever a page holds.

Python's own parser takes minutes for 60 KB of tags that never end; here what is open ends with the page.
"""

import re
from collections.abc import Iterator, Mapping
from html import unescape
from types import MappingProxyType
from typing import NamedTuple

RAW = frozenset({"script", "style", "textarea", "title", "iframe", "noembed", "noframes", "xmp"})
"""Elements whose content is no markup."""
TAG = re.compile(r"</?([a-zA-Z][^\s/>]*+)")
ATTRIBUTE = re.compile(r"""([^\s/>=][^\s/>=]*+)(?:\s*+=\s*+(?:"([^"]*+)"|'([^']*+)'|([^\s>"'][^\s>]*+)))?""")
GAP = re.compile(r"[\s/]*+")


class Token(NamedTuple):
    """A text, or a tag with its attributes."""

    kind: str
    """`text`, `open` or `close`."""
    name: str = ""
    text: str = ""
    attributes: Mapping[str, str] = MappingProxyType({})

    @property
    def is_hidden(self) -> bool:
        """Whether a browser does not show what it holds."""
        style = self.attributes.get("style", "").replace(" ", "").lower()
        is_marked = "hidden" in self.attributes or self.attributes.get("aria-hidden") == "true"
        return is_marked or "display:none" in style


def tokens(html: str) -> Iterator[Token]:
    """Yield what a page consists of; names in lower case, entities as the characters they mean."""
    at, end = 0, len(html)
    while at < end:
        start = html.find("<", at)
        start = end if start < 0 else start
        if start > at:
            yield Token("text", text=_plain(html[at:start]))
        if start == end:
            return
        found = TAG.match(html, start)
        if found is None:
            at, text = _no_tag(html, start)
            if text:
                yield Token("text", text=text)
            continue
        attributes, at = _attributes(html, found.end())
        name = found[1].lower()
        yield Token("close" if html[start + 1] == "/" else "open", name, "", attributes)
        if name in RAW and html[start + 1] != "/":
            start, at = at, _end_of_raw(html, name, at)
            yield Token("text", text=_plain(html[start:at]))


def _no_tag(html: str, start: int) -> tuple[int, str]:
    """Where a comment or declaration ends; a `<` that begins neither is a text."""
    if html.startswith("<!--", start):
        return _after(html, "-->", start + 4), ""
    if html[start + 1 : start + 2] in ("!", "?", "/"):
        return _after(html, ">", start + 2), ""
    return start + 1, "<"


def _attributes(html: str, at: int) -> tuple[dict[str, str], int]:
    """The attributes of a tag, and where the tag ends."""
    found: dict[str, str] = {}
    end = len(html)
    if html.startswith(">", at):
        return found, at + 1
    while True:
        gap = GAP.match(html, at)
        at = gap.end() if gap else at
        if at >= end or html[at] == ">":
            return found, min(at + 1, end)
        one = ATTRIBUTE.match(html, at)
        if one is None:
            at += 1
            continue
        value = one[2] or one[3] or one[4] or ""
        found.setdefault(one[1].lower(), _plain(value))
        at = one.end()


def _end_of_raw(html: str, name: str, at: int) -> int:
    found = re.compile(f"</{name}", re.IGNORECASE).search(html, at)
    return found.start() if found else len(html)


def _plain(text: str) -> str:
    try:
        return unescape(text)
    except ValueError:  # the number of a character with more digits than Python reads
        return text


def _after(html: str, mark: str, at: int) -> int:
    found = html.find(mark, at)
    return len(html) if found < 0 else found + len(mark)
