"""HTTP downloads for packs, limited by size and by the deadline of the call."""

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
from onetool.runtime.active_call import current_call

from .forwarding import waits_in_runtime
from .http import http_client

if TYPE_CHECKING:
    import httpx2

TIMEOUT_S = 10.0
MAX_REDIRECTS = 10
CHUNK = 64 * 1024
WINDOW = zlib.MAX_WBITS | 32
"""Makes zlib detect whether a stream is gzip or zlib."""
META_CHARSET = re.compile(rb"""<meta[^>]{0,200}?charset\s*=\s*["']?\s*([\w.:-]{1,40})""", re.IGNORECASE)
HEAD_BYTES = 4_096
REJECTED_CODECS = frozenset({"idna", "punycode", "unicode-escape", "raw-unicode-escape", "undefined"})
"""Slow Python codecs that no page is written in, but that a page could name to waste CPU time."""
BROWSER_CODECS = {"iso8859-1": "cp1252", "ascii": "cp1252", "utf-8": "utf-8-sig"}
"""Codecs that browsers use instead of the named one."""
PUBLIC_HEADERS = frozenset({"accept", "accept-language", "user-agent"})
UTF16_MARKS = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)


@dataclass(frozen=True, slots=True, kw_only=True)
class FetchedPage:
    """The response to a request, after redirects."""

    url: str
    status: int
    content_type: str
    content: bytes

    def text(self) -> str:
        """Return the content as text, decoded by the charset of the header, byte order mark or page."""
        charset = self.content_type.lower().partition("charset=")[2].partition(";")[0].strip(" \"'")
        if self.content.startswith(UTF16_MARKS):
            charset = "utf-16"
        elif not charset and (found := META_CHARSET.search(self.content[:HEAD_BYTES])):
            charset = found[1].decode("ascii", "replace")
        with suppress(LookupError):  # not a text encoding
            return self.content.decode(_codec(charset), "replace")
        return self.content.decode("utf-8-sig", "replace")

    def json(self) -> Any:
        """Return the parsed content.

        Raises:
            ValueError: The content is not JSON.
        """
        try:
            return json.loads(self.content)
        except (ValueError, RecursionError):
            raise ValueError(f"{self.url!r} did not return JSON.") from None


@waits_in_runtime
def fetch_url(
    url: str,
    *,
    max_bytes: int,
    headers: Mapping[str, str] | None = None,
    params: Mapping[str, Any] | None = None,
    follow_redirects: bool = True,
) -> FetchedPage:
    """Fetch a URL with the client of `http_client` and return the response, whatever its status.

    Sends no cookies. After a redirect to another server, only headers without secrets are sent.

    In an async tool, use `await to_thread(fetch_url, ...)`.

    Raises:
        ConnectionError: The URL cannot be fetched.
        ValueError: The content is larger than `max_bytes`.
        TimeoutError: The call was cancelled.
        RuntimeError: It is used on an event loop, where it would delay the time limit of every call.
    """
    import httpx2

    try:
        request = http_client().build_request("GET", url, headers=headers, params=params)
        request.headers["Accept-Encoding"] = "gzip"
        private = {name.lower() for name in headers or ()} - PUBLIC_HEADERS
        return _send(request, private, max_bytes, MAX_REDIRECTS if follow_redirects else 0)
    except (HostNotAllowed, TimeoutError):
        raise
    except (httpx2.HTTPError, httpx2.InvalidURL, UnicodeError, OSError) as error:
        raise ConnectionError(f"Cannot fetch {url!r}: {error or type(error).__name__}") from error


def _send(request: "httpx2.Request", private: set[str], max_bytes: int, redirects: int) -> FetchedPage:
    """Send a request and follow redirects; the client would read the body of a redirect without a limit."""
    client, first = http_client(), request.url
    for _ in range(redirects + 1):
        is_other_server = (request.url.scheme, request.url.netloc) != (first.scheme, first.netloc)
        for name in {"cookie", *(private if is_other_server else ())}:
            request.headers.pop(name, None)
        left = current_call().invocation.deadline - time.monotonic()
        request.extensions["timeout"] = dict.fromkeys(
            ("connect", "read", "write", "pool"), max(0.1, min(TIMEOUT_S, left))
        )
        response = client.send(request, stream=True, follow_redirects=False)
        try:
            if response.next_request is None or not redirects:
                return _read(response, max_bytes)
            request = response.next_request
        finally:
            response.close()
    raise ConnectionError(f"more than {redirects} redirects from {str(first)!r}")


def _read(response: "httpx2.Response", max_bytes: int) -> FetchedPage:
    content, cancelled = bytearray(), current_call().invocation.cancelled
    for part in _decompress(response):
        content += part
        if len(content) > max_bytes:
            raise ValueError(f"{str(response.url)!r} is larger than {max_bytes} bytes.")
        if cancelled.is_set:
            raise TimeoutError(f"Stopped reading {str(response.url)!r}: the call was cancelled.")
    return FetchedPage(
        url=str(response.url),
        status=response.status_code,
        content_type=response.headers.get("content-type", ""),
        content=bytes(content),
    )


def _decompress(response: "httpx2.Response") -> Iterator[bytes]:
    coding = response.headers.get("content-encoding", "").strip().lower()
    if coding in ("", "identity"):
        yield from response.iter_raw()
        return
    if coding not in ("gzip", "x-gzip", "deflate"):
        raise ConnectionError(f"unsupported content encoding {coding[:40]!r}; supported: gzip, deflate")
    inflate = zlib.decompressobj(WINDOW)
    try:
        for chunk in response.iter_raw():
            left = chunk
            while left and not inflate.eof:  # in small steps: a few bytes may expand to gigabytes
                yield inflate.decompress(left, CHUNK)
                left = inflate.unconsumed_tail
    except zlib.error:
        raise ConnectionError("the compressed content is invalid") from None


def _codec(charset: str) -> str:
    """Return the codec for a charset, or UTF-8 if it is unknown."""
    with suppress(LookupError, ValueError):
        codec = codecs.lookup(charset).name
        return "utf-8-sig" if codec in REJECTED_CODECS else BROWSER_CODECS.get(codec, codec)
    return "utf-8-sig"
