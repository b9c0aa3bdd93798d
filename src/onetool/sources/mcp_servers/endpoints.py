"""Asks the addresses that a server names for logging in: a stranger's words, each checked and bounded."""

import asyncio
import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from ipaddress import ip_address

import httpx2

from onetool.domain.hosts import BadUrl, Url, parse_url
from onetool.network.resolution import HostNotAllowed, resolve
from onetool.network.transports import AsyncTransport, make_async_client

from .account import Account
from .failure import Down, describe

LIMIT = 10.0
"""Seconds from a request to the end of its answer."""
LARGEST = 2**20
ERROR = re.compile(r"[a-z_]{1,40}")
LOOPBACK = ("127.0.0.1", "::1", "localhost")


@asynccontextmanager
async def open_client(account: Account) -> AsyncIterator[httpx2.AsyncClient]:
    """Make a client for what a server names; it raises Down for whatever keeps an answer away."""
    guard = _Guard(AsyncTransport(_allowed(account)))
    try:
        yield make_async_client(guard)
    finally:
        await guard.aclose()


async def check_page(address: str, account: Account) -> None:
    """Check an address that a browser is to open, as strictly as one that we ask ourselves.

    Raises Down.
    """
    url = check_scheme(address)
    try:
        await account.threads.run(resolve, url.host, url.port, _allowed(account))
    except HostNotAllowed as error:
        raise Down(_sentence(error)) from None
    except (OSError, UnicodeError) as error:
        raise Down(f"{url.host!r} was not resolved: {describe(error)}") from None


def check_scheme(address: str) -> Url:
    """Read an address over which a token may go.

    Raises Down for one that others could listen to.
    """
    try:
        url = parse_url(address)
    except BadUrl as error:
        raise Down(f"an address of it cannot be used: {_sentence(error)}") from None
    if url.scheme != "https" and not _is_loopback(url.host):
        raise Down(f"{_origin(url)!r} can be overheard. Valid: https, or http on this machine")
    return url


def error_code(response: httpx2.Response) -> str:
    """The code of the OAuth error that an answer holds, or nothing; the rest of it may hold tokens."""
    try:
        body = response.json()
    except (ValueError, RecursionError):
        return ""
    code = body.get("error") if isinstance(body, dict) else None
    return code if isinstance(code, str) and ERROR.fullmatch(code) else ""


class _Guard(httpx2.AsyncBaseTransport):
    """Reads answers whole, in time and up to a size."""

    def __init__(self, wire: httpx2.AsyncBaseTransport) -> None:
        self._wire = wire

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        where = _origin(check_scheme(str(request.url)))
        request.headers["Accept-Encoding"] = "identity"  # what is packed could unpack to any size
        try:
            async with asyncio.timeout(LIMIT):
                return await self._ask(request, where)
        except HostNotAllowed as error:
            raise Down(_sentence(error)) from None
        except TimeoutError:
            raise Down(f"{where} did not answer within {LIMIT:g} s") from None
        except httpx2.TransportError as error:
            raise Down(f"{where} has no answer: {describe(error)}") from None

    async def aclose(self) -> None:
        await self._wire.aclose()

    async def _ask(self, request: httpx2.Request, where: str) -> httpx2.Response:
        response = await self._wire.handle_async_request(request)
        try:
            if response.headers.get("content-encoding", "identity") != "identity":
                raise Down(f"{where} answers in an encoding that was not asked for")
            content = b""
            async for chunk in response.aiter_raw():
                content += chunk
                if len(content) > LARGEST:
                    raise Down(f"{where} answers with more than {LARGEST} bytes")
        finally:
            await response.aclose()
        return httpx2.Response(response.status_code, headers=response.headers, content=content)


def _allowed(account: Account) -> tuple[str, ...]:
    """The operator has chosen the server's own host; nothing else that is private is reached for it."""
    host = parse_url(account.url).host
    return (*account.allowed_hosts, host, *(LOOPBACK if _is_loopback(host) else ()))


def _is_loopback(host: str) -> bool:
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def _origin(url: Url) -> str:
    return str(url).removesuffix(url.target)


def _sentence(error: Exception) -> str:
    return str(error).removesuffix(".")
