"""An HTTP client for the URLs in OAuth metadata, which are untrusted: each is checked and limited."""

import asyncio
import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from ipaddress import ip_address

import httpx2

from onetool.domain.http.urls import InvalidUrl, Url, parse_url
from onetool.network.resolution import HostNotAllowed, resolve
from onetool.network.transports import AsyncGuardedTransport, make_async_client
from onetool.sources.mcp_servers.errors import NoResponse, ServerUnavailable, as_fragment, describe

from .config import OAuthConfig

REQUEST_TIMEOUT_S = 10.0
"""Time limit for a request and its whole response, in seconds."""
MAX_RESPONSE_BYTES = 2**20
ERROR_CODE = re.compile(r"[a-z_]{1,40}")
LOOPBACK_HOSTS = ("127.0.0.1", "::1", "localhost")


@asynccontextmanager
async def open_client(config: OAuthConfig) -> AsyncIterator[httpx2.AsyncClient]:
    """Open a client for the URLs of a server's metadata. It raises ServerUnavailable if a request fails."""
    transport = _MetadataTransport(AsyncGuardedTransport(_allowed_hosts(config)))
    try:
        yield make_async_client(transport)
    finally:
        await transport.aclose()


async def check_authorization_url(address: str, config: OAuthConfig) -> None:
    """Check a URL that the browser is to open by the same rules as our own requests.

    Raises:
        ServerUnavailable: The URL is not encrypted, its host cannot be resolved or is not allowed.
    """
    url = check_scheme(address)
    try:
        await config.threads.run(resolve, url.host, url.port, _allowed_hosts(config))
    except HostNotAllowed as error:
        raise ServerUnavailable(as_fragment(error)) from None
    except (OSError, UnicodeError) as error:
        raise ServerUnavailable(f"cannot resolve {url.host!r}: {describe(error)}") from None


def check_scheme(address: str) -> Url:
    """Parse a URL that tokens may be sent to.

    Raises:
        ServerUnavailable: The URL is invalid, or neither https nor on this machine.
    """
    try:
        url = parse_url(address)
    except InvalidUrl as error:
        raise ServerUnavailable(f"invalid login URL: {as_fragment(error)}") from None
    if url.scheme != "https" and not _is_loopback(url.host):
        raise ServerUnavailable(f"{_origin(url)!r} is not encrypted; use https, or http on this machine")
    return url


def error_code(response: httpx2.Response) -> str:
    """Return the OAuth error code of a response, or an empty string. The rest may contain tokens."""
    try:
        body = response.json()
    except (ValueError, RecursionError):
        return ""
    code = body.get("error") if isinstance(body, dict) else None
    return code if isinstance(code, str) and ERROR_CODE.fullmatch(code) else ""


class _MetadataTransport(httpx2.AsyncBaseTransport):
    """Checks URLs and reads whole responses, limited in time and size."""

    def __init__(self, transport: httpx2.AsyncBaseTransport) -> None:
        self._transport = transport

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        origin = _origin(check_scheme(str(request.url)))
        request.headers["Accept-Encoding"] = "identity"  # a compressed body could expand to any size
        try:
            async with asyncio.timeout(REQUEST_TIMEOUT_S):
                return await self._send(request, origin)
        except HostNotAllowed as error:
            raise ServerUnavailable(as_fragment(error)) from None
        except TimeoutError:
            raise NoResponse(f"{origin} did not respond within {REQUEST_TIMEOUT_S:g} s") from None
        except httpx2.TransportError as error:
            raise NoResponse(f"request to {origin} failed: {describe(error)}") from None

    async def aclose(self) -> None:
        await self._transport.aclose()

    async def _send(self, request: httpx2.Request, origin: str) -> httpx2.Response:
        response = await self._transport.handle_async_request(request)
        try:
            if response.headers.get("content-encoding", "identity") != "identity":
                raise ServerUnavailable(f"{origin} sent a content encoding that was not requested")
            content = b""
            async for chunk in response.aiter_raw():
                content += chunk
                if len(content) > MAX_RESPONSE_BYTES:
                    raise ServerUnavailable(f"{origin} sent more than {MAX_RESPONSE_BYTES} bytes")
        finally:
            await response.aclose()
        return httpx2.Response(response.status_code, headers=response.headers, content=content)


def _allowed_hosts(config: OAuthConfig) -> tuple[str, ...]:
    """Return the private hosts that may be contacted: the listed ones and the server's own."""
    host = parse_url(config.url).host
    return (*config.allowed_hosts, host, *(LOOPBACK_HOSTS if _is_loopback(host) else ()))


def _is_loopback(host: str) -> bool:
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def _origin(url: Url) -> str:
    return str(url).removesuffix(url.target)
