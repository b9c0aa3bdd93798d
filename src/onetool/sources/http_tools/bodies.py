"""Answers: read no further than allowed, also when they are compressed, and parsed."""

import re
import zlib
from collections.abc import AsyncGenerator, Iterator
from contextlib import aclosing, suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import orjson

from onetool.domain.templates import is_json_type

if TYPE_CHECKING:
    import httpx2

CHUNK = 64 * 1024
WINDOW = zlib.MAX_WBITS | 32
"""Makes zlib look itself whether a stream is gzip or zlib."""
CODINGS = frozenset({"gzip", "x-gzip", "deflate"})
EMPTY = frozenset({204, 205, 304})
CHARSETS = re.compile(
    r"us-ascii|utf-?(8-sig|16|16-?[bl]e|32|32-?[bl]e)|latin-?1|iso-8859-(1[0-6]|[1-9])|windows-125[0-8]|cp125[0-8]"
    r"|shift_jis|euc-jp|iso-2022-jp|gb2312|gbk|gb18030|big5|euc-kr|koi8-[ru]"
)
"""Encodings of texts. Python knows others that take minutes for a few bytes, and the server chooses."""


class Unreadable(ValueError):
    """An answer whose encoding is unknown or broken."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """What came back; `is_whole` is False where it was longer than allowed and cut off."""

    status: int
    content: bytes
    is_whole: bool = True
    is_empty: bool = False
    """Of a kind that never has content."""
    content_type: str = ""
    location: str | None = None
    retry_after: str | None = None

    def text(self) -> str:
        """The content as text, in the encoding that it claims, else UTF-8."""
        charset = self.content_type.lower().partition("charset=")[2].partition(";")[0].strip(" \"'")
        return self.content.decode(charset if CHARSETS.fullmatch(charset) else "utf-8-sig", "replace")

    def value(self) -> Any:
        """The parsed content: JSON where it says so or looks so, else text; None where there is none."""
        is_json = is_json_type(self.content_type)
        if self.is_empty or (is_json and not self.content):
            return None
        if is_json or self.content.lstrip()[:1] in (b"{", b"["):
            with suppress(orjson.JSONDecodeError):
                return orjson.loads(self.content)
        return self.text()


async def read(response: "httpx2.Response", method: str, limit: int) -> Answer:
    """Read an answer up to so many bytes, counted after decompression.

    Raises Unreadable.
    """
    content = bytearray()
    async with aclosing(_plain(response)) as chunks:
        async for chunk in chunks:
            content += chunk
            if len(content) > limit:
                break
    headers = response.headers
    return Answer(
        status=response.status_code,
        content=bytes(content[:limit]),
        is_whole=len(content) <= limit,
        is_empty=method == "HEAD" or response.status_code in EMPTY,
        content_type=headers.get("content-type", ""),
        location=headers.get("location"),
        retry_after=headers.get("retry-after"),
    )


async def _plain(response: "httpx2.Response") -> AsyncGenerator[bytes, None]:
    coding = response.headers.get("content-encoding", "").strip().lower()
    is_plain = coding in ("", "identity")
    if not is_plain and coding not in CODINGS:
        raise Unreadable(f"content encoding {coding[:40]!r} is not understood; gzip and deflate are")
    inflate = zlib.decompressobj(WINDOW)
    is_begun = False
    async with aclosing(response.aiter_raw()) as chunks:
        async for chunk in chunks:
            is_begun = True
            for part in [chunk] if is_plain else _inflated(inflate, chunk):
                yield part
    if not is_plain and is_begun:
        yield inflate.flush()
        if not inflate.eof:
            raise Unreadable("the compressed content breaks off")


def _inflated(inflate: Any, chunk: bytes) -> Iterator[bytes]:
    """Decompress bit by bit: a few bytes may stand for gigabytes."""
    while chunk and not inflate.eof:
        try:
            yield inflate.decompress(chunk, CHUNK)
        except zlib.error as error:
            raise Unreadable("the compressed content is broken") from error
        chunk = inflate.unconsumed_tail
