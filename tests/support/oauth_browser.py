"""The browser of a person whom MCP clients ask for access, and the MCP SDK's client that asks."""

import html
import re
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from typing import Any
from urllib.parse import parse_qsl, urlsplit

import httpx2
import pytest
from mcp.client.auth import OAuthClientProvider
from mcp.client.client import Client
from mcp.client.streamable_http import streamable_http_client
from mcp.shared.auth import (
    AuthorizationCodeResult,
    OAuthClientInformationFull,
    OAuthClientMetadata,
    OAuthToken,
)

from support.hosted_process import HostedProcess, Installation
from support.oidc_provider import PUBLIC_URL, OidcServer, login_variables
from support.waiting import HANG_S

CONSENT = re.compile(r'name="consent" value="([^"]+)"')
REDIRECT_URI = "http://127.0.0.1:33418/callback"
SWITCHES = {
    "ONETOOL_AUTHORIZATION_SERVER": "on",
    "ONETOOL_CLIENT_REGISTRATION": "on",
    "ONETOOL_CLIENT_HOSTS": "127.0.0.1",
}
OWN_FORM = {"Origin": PUBLIC_URL, "Sec-Fetch-Site": "same-origin"}


def consent_of(response: httpx2.Response) -> str:
    """Return the question of a page, which the answer repeats."""
    found = CONSENT.search(response.text)
    assert found, response.text
    return html.unescape(found[1])


def parameters(url: str) -> dict[str, str]:
    """Return the query of a URL, in which each name occurs once."""
    pairs = parse_qsl(urlsplit(url).query, keep_blank_values=True)
    assert len(dict(pairs)) == len(pairs), url
    return dict(pairs)


class MappedTransport(httpx2.AsyncHTTPTransport):
    """Sends requests for the public URL of a server to its port."""

    def __init__(self, port: int, **fields: Any) -> None:
        super().__init__(**fields)
        self._port = port

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        if request.url.host == "localhost" and request.url.port is None:
            url = request.url.copy_with(host="127.0.0.1", port=self._port)
            fields = {"headers": request.headers, "stream": request.stream, "extensions": request.extensions}
            request = httpx2.Request(request.method, url, **fields)  # the caller's stays as it is
        return await super().handle_async_request(request)


class PersonBrowser:
    """A browser that logs in at the provider when it is sent there."""

    def __init__(self, client: httpx2.AsyncClient, oidc: OidcServer, person: dict[str, Any]) -> None:
        self.client, self._oidc, self._person = client, oidc, person
        self.pages: list[httpx2.Response] = []

    async def open(self, url: str) -> httpx2.Response:
        """Follow redirects as long as they lead to the server or the provider."""
        response = await self.client.get(url)
        while response.is_redirect:
            target = str(response.url.join(response.headers["location"]))
            if target.startswith(self._oidc.issuer):
                target = await self._oidc.authorize(target, self._person)
            elif not target.startswith(f"{PUBLIC_URL}/"):
                break
            response = await self.client.get(target)
        return response

    async def allow(self, url: str) -> str:
        """Let a client act for the person, and return where the browser is sent then."""
        page = await self.open(url)
        assert page.status_code == 200, page.text
        self.pages.append(page)
        form = {"consent": consent_of(page), "decision": "allow"}
        response = await self.client.post(str(page.url), data=form, headers=OWN_FORM)
        assert response.status_code == 303, response.text
        return response.headers["location"]


class StoredTokens:
    """What a client stores: the tokens, and how it is registered."""

    def __init__(self) -> None:
        self.tokens: OAuthToken | None = None
        self.client: OAuthClientInformationFull | None = None

    async def get_tokens(self) -> OAuthToken | None:
        return self.tokens

    async def set_tokens(self, tokens: OAuthToken) -> None:
        self.tokens = tokens

    async def get_client_info(self) -> OAuthClientInformationFull | None:
        return self.client

    async def set_client_info(self, client: OAuthClientInformationFull) -> None:
        self.client = client


class SdkClient:
    """The client of the MCP SDK, which logs in when it is refused."""

    def __init__(self, slug: str, port: int, browser: PersonBrowser, document_url: str = "") -> None:
        """document_url: where the client describes itself; empty: it registers."""
        self.url, self._port, self._browser = f"{PUBLIC_URL}/w/{slug}/mcp", port, browser
        self.storage = StoredTokens()
        metadata = OAuthClientMetadata.model_validate(
            {"client_name": "Test client", "redirect_uris": [REDIRECT_URI]}
        )
        self.provider = OAuthClientProvider(
            self.url,
            metadata,
            self.storage,
            self._redirect,
            self._callback,  # type: ignore[arg-type]
        )
        # The SDK insists on https, which a server of the tests does not have.
        self.provider.context.client_metadata_url = document_url or None
        self.logins = 0

    async def _redirect(self, url: str) -> None:
        self.logins += 1
        self._back = await self._browser.allow(url)

    async def _callback(self) -> AuthorizationCodeResult:
        assert self._back.startswith(f"{REDIRECT_URI}?")
        return AuthorizationCodeResult.model_validate(parameters(self._back))

    @asynccontextmanager
    async def session(self) -> AsyncIterator[Client]:
        """Connect."""
        transport = MappedTransport(self._port)
        async with (
            httpx2.AsyncClient(auth=self.provider, transport=transport, timeout=HANG_S) as http,
            Client(streamable_http_client(self.url, http_client=http)) as client,
        ):
            yield client


@pytest.fixture(scope="session")
def issuing_site(
    tmp_path_factory: pytest.TempPathFactory, installation: Installation, oidc: OidcServer
) -> Iterator[HostedProcess]:
    """Return a hosted server that issues tokens, for the tests of one worker."""
    variables = login_variables(oidc.issuer) | SWITCHES
    with HostedProcess(tmp_path_factory.mktemp("oauth"), installation=installation, **variables) as server:
        yield server  # type: ignore[misc]
