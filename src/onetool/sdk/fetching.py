"""Answers from the web for packs: read no further than allowed, in the time that is left."""

import codecs
import json
import re
import time
import zlib
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from onetool.network.resolution import HostNotAllowed
from onetool.runtime import current

from .http import http_client

if TYPE_CHECKING:
    import httpx2

PATIENCE = 10.0
MOST_REDIRECTS = 10
CHUNK = 64 * 1024
WINDOW = zlib.MAX_WBITS | 32
"""Makes zlib look itself whether a stream is gzip or zlib."""
META = re.compile(rb"""<meta[^>]{0,200}?charset\s*=\s*["']?\s*([\w.:-]{1,40})""", re.IGNORECASE)
HEAD = 4_096
SLOW = frozenset({"idna", "punycode", "unicode-escape", "raw-unicode-escape", "undefined"})
"""Python's own codecs that no page is written in, and that a page could name to waste time."""
WIDER = {"iso8859-1": "cp1252", "ascii": "cp1252", "utf-8": "utf-8-sig"}
"""What browsers read instead."""
HARMLESS = frozenset({"accept", "accept-language", "user-agent"})
MARKS = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)


@dataclass(frozen=True, slots=True, kw_only=True)
class Fetched:
    """What a URL led to, redirects followed."""

    url: str
    status: int
    content_type: str
    content: bytes

    def text(self) -> str:
        """Return the content as text, in the charset that header, first bytes or page name; else UTF-8."""
        named = self.content_type.lower().partition("charset=")[2].partition(";")[0].strip(" \"'")
        if self.content.startswith(MARKS):
            named = "utf-16"
        elif not named and (found := META.search(self.content[:HEAD])):
            named = found[1].decode("ascii", "replace")
        with suppress(LookupError):  # it is none of text
            return self.content.decode(_codec(named), "replace")
        return self.content.decode("utf-8-sig", "replace")

    def json(self) -> Any:
        """Return the parsed content.

        Raises ValueError when it is not JSON.
        """
        try:
            return json.loads(self.content)
        except (ValueError, RecursionError):
            raise ValueError(f"{self.url!r} did not answer with JSON.") from None


def fetch_url(
    url: str,
    *,
    max_bytes: int,
    headers: Mapping[str, str] | None = None,
    params: Mapping[str, Any] | None = None,
    follow_redirects: bool = True,
) -> Fetched:
    """Get a URL with the client of `http_client`, whatever its status, up to so many bytes.

    No cookies are sent, and headers that may hold a key go to no other server than the first.
    Raises ConnectionError when nothing can be got, ValueError when it is larger, TimeoutError when nobody
    waits any more.
    """
    import httpx2

    try:
        request = http_client().build_request("GET", url, headers=headers, params=params)
        request.headers["Accept-Encoding"] = "gzip"
        private = {name.lower() for name in headers or ()} - HARMLESS
        return _follow(request, private, max_bytes, MOST_REDIRECTS if follow_redirects else 0)
    except (HostNotAllowed, TimeoutError):
        raise
    except (httpx2.HTTPError, httpx2.InvalidURL, UnicodeError, OSError) as error:
        raise ConnectionError(f"{url!r} cannot be fetched: {error or type(error).__name__}") from error


def _follow(request: "httpx2.Request", private: set[str], max_bytes: int, redirects: int) -> Fetched:
    """One by one: the client itself would read what comes with a redirect, however long that is."""
    client, first = http_client(), request.url
    for _ in range(redirects + 1):
        is_elsewhere = (request.url.scheme, request.url.netloc) != (first.scheme, first.netloc)
        for name in {"cookie", *(private if is_elsewhere else ())}:
            request.headers.pop(name, None)
        left = current().invocation.deadline - time.monotonic()
        request.extensions["timeout"] = dict.fromkeys(
            ("connect", "read", "write", "pool"), max(0.1, min(PATIENCE, left))
        )
        response = client.send(request, stream=True, follow_redirects=False)
        try:
            if response.next_request is None or not redirects:
                return _read(response, max_bytes)
            request = response.next_request
        finally:
            response.close()
    raise ConnectionError(f"it redirects more than {redirects} times, from {str(first)!r} on")


def _read(response: "httpx2.Response", max_bytes: int) -> Fetched:
    content, over = bytearray(), current().invocation.over
    for part in _plain(response):
        content += part
        if len(content) > max_bytes:
            raise ValueError(f"{str(response.url)!r} is larger than {max_bytes} bytes; no more is read.")
        if over.is_up:
            raise TimeoutError(f"{str(response.url)!r} was not read to its end: nobody waits any more.")
    return Fetched(
        url=str(response.url),
        status=response.status_code,
        content_type=response.headers.get("content-type", ""),
        content=bytes(content),
    )


def _plain(response: "httpx2.Response") -> Iterator[bytes]:
    coding = response.headers.get("content-encoding", "").strip().lower()
    if coding in ("", "identity"):
        yield from response.iter_raw()
        return
    if coding not in ("gzip", "x-gzip", "deflate"):
        raise ConnectionError(f"content encoding {coding[:40]!r} is not understood; gzip and deflate are")
    inflate = zlib.decompressobj(WINDOW)
    try:
        for chunk in response.iter_raw():
            left = chunk
            while left and not inflate.eof:  # bit by bit: a few bytes may stand for gigabytes
                yield inflate.decompress(left, CHUNK)
                left = inflate.unconsumed_tail
    except zlib.error:
        raise ConnectionError("the compressed content is broken") from None


def _codec(named: str) -> str:
    """The codec of a charset's name; UTF-8 where nobody knows it."""
    with suppress(LookupError, ValueError):
        found = codecs.lookup(named).name
        return "utf-8-sig" if found in SLOW else WIDER.get(found, found)
    return "utf-8-sig"
