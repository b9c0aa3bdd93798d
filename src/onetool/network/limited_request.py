"""One request that is limited in time and size, without redirects."""

import asyncio
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

from .client import HttpClients

if TYPE_CHECKING:
    import httpx2

REDIRECTS = range(300, 400)
UNCOMPRESSED = "identity"


class RequestFailed(ConnectionError):
    """The request got no response that can be used. The message does not end with a full stop."""


class HttpReply(NamedTuple):
    """A response that was read completely."""

    status: int
    content: bytes
    content_type: str = ""


def get_limited(url: str, *, accept: str, max_bytes: int, timeout_s: float) -> HttpReply:
    """Send a GET request from a thread without an event loop.

    Raises:
        RequestFailed: As for `send_limited`.
    """
    headers = {"Accept": accept}
    return asyncio.run(send_limited(url, headers=headers, max_bytes=max_bytes, timeout_s=timeout_s))


async def send_limited(
    url: str,
    *,
    headers: Mapping[str, str],
    max_bytes: int,
    timeout_s: float,
    form: Mapping[str, str] | None = None,
    private_hosts: Sequence[str] | None = None,
) -> HttpReply:
    """Send a GET request, or with a form a POST request.

    private_hosts: hosts that may have a private address; None: this one, because the operator chose it.

    Raises:
        RequestFailed: The URL is invalid, the host cannot be reached, or the response is too slow, too large,
            compressed or a redirect. The message names the host, never a login in the URL.
    """
    import httpx2

    try:
        host = httpx2.URL(url).host
    except (httpx2.InvalidURL, ValueError, TypeError):  # the error may quote a password
        raise RequestFailed("invalid URL") from None
    clients = HttpClients([host] if private_hosts is None else private_hosts)
    method = "GET" if form is None else "POST"
    all_headers = {**headers, "Accept-Encoding": UNCOMPRESSED}  # a compressed body could have any size
    try:
        async with asyncio.timeout(timeout_s):
            request = clients.async_client().build_request(method, url, headers=all_headers, data=form)
            return await _read(clients, request, host, max_bytes)
    except TimeoutError:
        raise RequestFailed(f"{host} did not respond within {timeout_s:g} s") from None
    except (httpx2.HTTPError, httpx2.InvalidURL, OSError) as error:
        if isinstance(error, RequestFailed):
            raise
        raise RequestFailed(f"{host}: {str(error).rstrip('.') or type(error).__name__}") from None
    finally:
        await clients.aclose()


async def _read(clients: HttpClients, request: "httpx2.Request", host: str, max_bytes: int) -> HttpReply:
    response = await clients.async_client().send(request, stream=True)
    try:
        if response.status_code in REDIRECTS:
            raise RequestFailed(f"{host} redirects to another address, which is not followed")
        if response.headers.get("content-encoding", UNCOMPRESSED) != UNCOMPRESSED:
            raise RequestFailed(f"{host} sent a content encoding that was not requested")
        content = bytearray()
        async for chunk in response.aiter_raw():
            content += chunk
            if len(content) > max_bytes:
                raise RequestFailed(f"{host} sent more than {max_bytes:,} bytes")
        content_type = response.headers.get("content-type", "")
        return HttpReply(response.status_code, bytes(content), content_type)
    finally:
        await response.aclose()
