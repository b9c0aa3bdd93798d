"""An HTML tokenizer that runs in linear time for any input.

Python's own parser takes minutes for 60 KB of unterminated tags. Here they end with the page.
"""

import re
from collections.abc import Iterator, Mapping
from html import unescape
from types import MappingProxyType
from typing import NamedTuple

RAW = frozenset({"script", "style", "textarea", "title", "iframe", "noembed", "noframes", "xmp"})
"""Elements whose content is not markup."""
TAG = re.compile(r"</?([a-zA-Z][^\s/>]*+)")
ATTRIBUTE = re.compile(r"""([^\s/>=][^\s/>=]*+)(?:\s*+=\s*+(?:"([^"]*+)"|'([^']*+)'|([^\s>"'][^\s>]*+)))?""")
GAP = re.compile(r"[\s/]*+")


class HtmlToken(NamedTuple):
    """Text, or a tag with its attributes."""

    kind: str
    """`text`, `open` or `close`."""
    name: str = ""
    text: str = ""
    attributes: Mapping[str, str] = MappingProxyType({})

    @property
    def is_hidden(self) -> bool:
        """Whether a browser hides the element."""
        style = self.attributes.get("style", "").replace(" ", "").lower()
        is_marked = "hidden" in self.attributes or self.attributes.get("aria-hidden") == "true"
        return is_marked or "display:none" in style


def tokens(html: str) -> Iterator[HtmlToken]:
    """Yield the tokens of a page, with lower-case names and decoded entities."""
    at, end = 0, len(html)
    while at < end:
        start = html.find("<", at)
        start = end if start < 0 else start
        if start > at:
            yield HtmlToken("text", text=_unescape(html[at:start]))
        if start == end:
            return
        tag = TAG.match(html, start)
        if tag is None:
            at, text = _skip_non_tag(html, start)
            if text:
                yield HtmlToken("text", text=text)
            continue
        attributes, at = _attributes(html, tag.end())
        name = tag[1].lower()
        yield HtmlToken("close" if html[start + 1] == "/" else "open", name, "", attributes)
        if name in RAW and html[start + 1] != "/":
            start, at = at, _end_of_raw(html, name, at)
            yield HtmlToken("text", text=_unescape(html[start:at]))


def _skip_non_tag(html: str, start: int) -> tuple[int, str]:
    """Return the end of a comment or declaration. Any other `<` is returned as text."""
    if html.startswith("<!--", start):
        return _position_after(html, "-->", start + 4), ""
    if html[start + 1 : start + 2] in ("!", "?", "/"):
        return _position_after(html, ">", start + 2), ""
    return start + 1, "<"


def _attributes(html: str, at: int) -> tuple[dict[str, str], int]:
    """Return the attributes of a tag and the position after the tag."""
    attributes: dict[str, str] = {}
    end = len(html)
    if html.startswith(">", at):
        return attributes, at + 1
    while True:
        gap = GAP.match(html, at)
        at = gap.end() if gap else at
        if at >= end or html[at] == ">":
            return attributes, min(at + 1, end)
        match = ATTRIBUTE.match(html, at)
        if match is None:
            at += 1
            continue
        value = match[2] or match[3] or match[4] or ""
        attributes.setdefault(match[1].lower(), _unescape(value))
        at = match.end()


def _end_of_raw(html: str, name: str, at: int) -> int:
    end_tag = re.compile(f"</{name}", re.IGNORECASE).search(html, at)
    return end_tag.start() if end_tag else len(html)


def _unescape(text: str) -> str:
    try:
        return unescape(text)
    except ValueError:  # a character reference with more digits than int() accepts
        return text


def _position_after(html: str, mark: str, at: int) -> int:
    position = html.find(mark, at)
    return len(html) if position < 0 else position + len(mark)
