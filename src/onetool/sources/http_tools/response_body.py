"""Response bodies: read up to a size limit, decompressed and parsed."""

import json
import re
import time
import zlib
from collections.abc import AsyncGenerator, Callable, Iterator
from contextlib import aclosing, suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NoReturn

import orjson

from onetool.domain.content.media import Media
from onetool.domain.http.templates import is_json_type
from onetool.domain.text.json_text import describe_invalid_json
from onetool.network.backoff import retry_after

from .event_stream import EventReader, ServerEvent, events_of

if TYPE_CHECKING:
    import httpx2

CHUNK_BYTES = 64 * 1024
WINDOW = zlib.MAX_WBITS | 32
"""Lets zlib detect gzip and zlib streams."""
CODINGS = frozenset({"gzip", "x-gzip", "deflate"})
EMPTY_STATUSES = frozenset({204, 205, 304})
CHARSETS = re.compile(
    r"us-ascii|utf-?(8-sig|16|16-?[bl]e|32|32-?[bl]e)|latin-?1|iso-8859-(1[0-6]|[1-9])|windows-125[0-8]|cp125[0-8]"
    r"|shift_jis|euc-jp|iso-2022-jp|gb2312|gbk|gb18030|big5|euc-kr|koi8-[ru]"
)
"""Accepted encodings. Python has codecs that take minutes for a small body, and the server chooses."""

OnEvent = Callable[[ServerEvent], None]
MEDIA_TYPE = re.compile(r"(image|audio|video)/(?!.*\+xml)[\w.+-]{1,80}|application/pdf", re.ASCII)
"""Types of media. SVG is text."""


class UnreadableBody(ValueError):
    """The content encoding of a response is unsupported or its content is corrupt."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ResponseBody:
    """The response to a request."""

    status: int
    content: bytes
    is_complete: bool = True
    """False if the content was truncated at the size limit."""
    is_empty: bool = False
    """True for responses that never have content."""
    content_type: str = ""
    location: str | None = None
    retry_after: float | None = None
    """Seconds to wait before a retry, if the server requests it."""

    def text(self) -> str:
        """Decode the content with the declared encoding, or with UTF-8."""
        charset = self.content_type.lower().partition("charset=")[2].partition(";")[0].strip(" \"'")
        return self.content.decode(charset if CHARSETS.fullmatch(charset) else "utf-8-sig", "replace")

    def value(self, events: str | None = None) -> Any:
        """Return images, sounds and PDF as media, JSON as its value, all else as text; None if empty.

        events: how an event stream is returned: as a `list`, as joined `text`, or as it is.

        Raises:
            ValueError: The body is labelled as JSON, and is not.
        """
        is_json = is_json_type(self.content_type)
        if self.is_empty or (is_json and not self.content):
            return None
        mime_type = self.content_type.lower().partition(";")[0].strip()
        if MEDIA_TYPE.fullmatch(mime_type):
            return Media(self.content, mime_type)
        if events and _is_event_stream(mime_type):
            found = events_of(self.content)
            joined = "\n".join(event.data for event in found)
            return joined if events == "text" else [event.to_json() for event in found]
        if is_json or self.content.lstrip()[:1] in (b"{", b"["):
            with suppress(orjson.JSONDecodeError):
                return orjson.loads(self.content)
        return self._labelled_json() if is_json else self.text()

    def _labelled_json(self) -> Any:
        """Parse JSON that is not plain UTF-8: in another encoding, or with a mark or a lone surrogate."""
        text = self.text()
        try:
            return json.loads(text, parse_constant=_refuse_constant)
        except (ValueError, RecursionError) as error:
            raise ValueError(describe_invalid_json(text, error)) from None


def _refuse_constant(constant: str) -> NoReturn:
    raise ValueError(f"{constant} is not a number in JSON")


async def read_response(
    response: "httpx2.Response", method: str, max_bytes: int, on_event: OnEvent
) -> ResponseBody:
    """Read a response up to a size, counted after decompression.

    on_event: called with each event of an event stream when it arrives.

    Raises:
        UnreadableBody: The content cannot be decompressed.
    """
    content = bytearray()
    reader = EventReader() if _is_event_stream(response.headers.get("content-type", "")) else None
    async with aclosing(_decompress(response)) as chunks:
        async for chunk in chunks:
            content += chunk
            if len(content) > max_bytes:
                break
            for event in reader.feed(chunk) if reader else ():
                on_event(event)
    headers = response.headers
    return ResponseBody(
        status=response.status_code,
        content=bytes(content[:max_bytes]),
        is_complete=len(content) <= max_bytes,
        is_empty=method == "HEAD" or response.status_code in EMPTY_STATUSES,
        content_type=headers.get("content-type", ""),
        location=headers.get("location"),
        retry_after=retry_after(headers, time.time()),
    )


def _is_event_stream(content_type: str) -> bool:
    return content_type.partition(";")[0].strip().lower() == "text/event-stream"


async def _decompress(response: "httpx2.Response") -> AsyncGenerator[bytes, None]:
    coding = response.headers.get("content-encoding", "").strip().lower()
    is_plain = coding in ("", "identity")
    if not is_plain and coding not in CODINGS:
        raise UnreadableBody(f"unsupported content encoding {coding[:40]!r}; supported: gzip, deflate")
    decompressor = zlib.decompressobj(WINDOW)
    has_content = False
    async with aclosing(response.aiter_raw()) as chunks:
        async for chunk in chunks:
            has_content = True
            for part in [chunk] if is_plain else _inflate(decompressor, chunk):
                yield part
    if not is_plain and has_content:
        yield decompressor.flush()
        if not decompressor.eof:
            raise UnreadableBody("the compressed content is truncated")


def _inflate(decompressor: Any, chunk: bytes) -> Iterator[bytes]:
    """Decompress in small steps: a few bytes may expand to gigabytes."""
    while chunk and not decompressor.eof:
        try:
            yield decompressor.decompress(chunk, CHUNK_BYTES)
        except zlib.error as error:
            raise UnreadableBody("the compressed content is corrupt") from error
        chunk = decompressor.unconsumed_tail
