"""One GET request to a host that the operator chose, limited in time and size, without redirects."""

import asyncio
from typing import NamedTuple

from .client import HttpClients

REDIRECTS = range(300, 400)
UNCOMPRESSED = "identity"


class GetFailed(ConnectionError):
    """The request got no response that can be used. The message does not end with a full stop."""


class HttpReply(NamedTuple):
    """A response that was read completely."""

    status: int
    content: bytes


def get_limited(url: str, *, accept: str, max_bytes: int, timeout_s: float) -> HttpReply:
    """Send a request from a thread without an event loop.

    Raises:
        GetFailed: The URL is invalid, the host cannot be reached, or the response is too slow, too large,
            compressed or a redirect. The message names the host, never a login in the URL.
    """
    return asyncio.run(_get(url, accept, max_bytes, timeout_s))


async def _get(url: str, accept: str, max_bytes: int, timeout_s: float) -> HttpReply:
    import httpx2

    try:
        host = httpx2.URL(url).host
    except (httpx2.InvalidURL, ValueError, TypeError):  # the error may quote a password
        raise GetFailed("invalid URL") from None
    clients = HttpClients([host])  # the operator chose this host, so it may be private
    try:
        async with asyncio.timeout(timeout_s):
            return await _read(clients, url, host, accept, max_bytes)
    except TimeoutError:
        raise GetFailed(f"{host} did not respond within {timeout_s:g} s") from None
    except (httpx2.HTTPError, httpx2.InvalidURL, OSError) as error:
        if isinstance(error, GetFailed):
            raise
        raise GetFailed(f"{host}: {str(error).rstrip('.') or type(error).__name__}") from None
    finally:
        await clients.aclose()


async def _read(clients: HttpClients, url: str, host: str, accept: str, max_bytes: int) -> HttpReply:
    headers = {"Accept": accept, "Accept-Encoding": UNCOMPRESSED}  # a compressed body could have any size
    async with clients.async_client().stream("GET", url, headers=headers) as response:
        if response.status_code in REDIRECTS:
            raise GetFailed(f"{host} redirects to another address, which is not followed")
        if response.headers.get("content-encoding", UNCOMPRESSED) != UNCOMPRESSED:
            raise GetFailed(f"{host} sent a content encoding that was not requested")
        content = bytearray()
        async for chunk in response.aiter_raw():
            content += chunk
            if len(content) > max_bytes:
                raise GetFailed(f"{host} sent more than {max_bytes:,} bytes")
        return HttpReply(response.status_code, bytes(content))
