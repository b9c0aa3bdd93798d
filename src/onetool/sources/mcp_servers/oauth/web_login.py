"""The OAuth login of a member of a hosted OneTool: their browser comes back to any of its servers."""

import asyncio
import secrets
from collections.abc import Mapping
from contextlib import suppress
from typing import NamedTuple
from urllib.parse import parse_qsl, urlencode, urlsplit

import httpx2
from mcp.client.auth import OAuthFlowError, OAuthTokenError, PKCEParameters
from mcp.client.auth.utils import handle_token_response_scopes, validate_authorization_response_iss
from mcp.shared.auth import (
    AuthorizationCodeResult,
    OAuthClientInformationFull,
    OAuthMetadata,
    ProtectedResourceMetadata,
)
from mcp_types import LATEST_PROTOCOL_VERSION
from pydantic import BaseModel, ConfigDict, Field

from onetool.domain.text.strings import truncate_middle
from onetool.sources.mcp_servers.errors import ServerUnavailable

from .config import OAuthConfig
from .login_flow import MAX_REASON_LENGTH, NO_TOKENS, LoginFlow, check_hosts, describe_response
from .metadata_client import check_scheme, open_client
from .tokens import PendingTokens, StoredTokens, make_provider

STATE_BYTES = 32
STEP_TIMEOUT_S = 30.0
"""Time limit for all requests until the login page is known, and for those after the redirect, in seconds."""


class StartedLogin(BaseModel):
    """What is kept, sealed, while a browser shows the login page."""

    model_config = ConfigDict(frozen=True, hide_input_in_errors=True)

    url: str
    redirect_uri: str
    verifier: str = Field(repr=False)
    scope: str | None
    client: OAuthClientInformationFull = Field(repr=False)
    issuer: OAuthMetadata
    resource: ProtectedResourceMetadata | None = None


class LoginPage(NamedTuple):
    """The page to which a browser goes, and what is needed when it comes back."""

    url: str
    state: str
    """A secret in the URL, which the browser brings back."""
    begun: StartedLogin


async def begin_login(config: OAuthConfig, redirect_uri: str) -> LoginPage:
    """Find the login page of a server and register a client there.

    Raises:
        ServerUnavailable: The server has no login, or does not respond in time.
    """
    check_scheme(config.url)
    try:
        async with asyncio.timeout(STEP_TIMEOUT_S), open_client(config) as client:
            return await _find_page(config, client, redirect_uri)
    except TimeoutError:
        raise ServerUnavailable(f"no login page within {STEP_TIMEOUT_S:g} s") from None


async def finish_login(config: OAuthConfig, begun: StartedLogin, response: Mapping[str, str]) -> StoredTokens:
    """Return the tokens of a login whose browser came back with this response.

    Raises:
        ServerUnavailable: The login was denied, or the response belongs to another login.
    """
    if begun.url != config.url:
        raise ServerUnavailable("the URL of the server has changed since the login began")
    try:
        validate_authorization_response_iss(response.get("iss"), begun.issuer)
        if not response.get("iss"):
            check_hosts(begun.issuer)
    except OAuthFlowError as error:
        raise ServerUnavailable(truncate_middle(str(error), MAX_REASON_LENGTH)) from None
    if not response.get("code"):
        texts = [response[name] for name in ("error", "error_description") if response.get(name)]
        reason = truncate_middle(": ".join(texts), MAX_REASON_LENGTH) or "the redirect contains no code"
        raise ServerUnavailable(f"the authorization server denied access: {reason!r}")
    try:
        async with asyncio.timeout(STEP_TIMEOUT_S), open_client(config) as client:
            return await _get_tokens(client, begun, response["code"])
    except TimeoutError:
        raise ServerUnavailable(f"no tokens within {STEP_TIMEOUT_S:g} s") from None


class _PageFound(Exception):
    """The login page is known. The rest of the login happens when the browser comes back."""


async def _find_page(config: OAuthConfig, client: httpx2.AsyncClient, redirect_uri: str) -> LoginPage:
    found = list[str]()

    async def show_page(url: str) -> None:
        found.append(url)
        raise _PageFound

    async def wait_for_code() -> AuthorizationCodeResult:
        raise AssertionError

    flow = LoginFlow(config, client, redirect_uri, show_page=show_page, wait_for_code=wait_for_code)
    with suppress(_PageFound):
        await flow.run()
    pkce, state = PKCEParameters.generate(), secrets.token_urlsafe(STATE_BYTES)
    page = urlsplit(found[0])
    query = dict(parse_qsl(page.query)) | {"state": state, "code_challenge": pkce.code_challenge}
    begun = StartedLogin(
        url=config.url,
        redirect_uri=redirect_uri,
        verifier=pkce.code_verifier,
        scope=flow.scope,
        client=flow.client,
        issuer=flow.metadata,
        resource=flow.resource,
    )
    return LoginPage(page._replace(query=urlencode(query)).geturl(), state, begun)


async def _get_tokens(client: httpx2.AsyncClient, begun: StartedLogin, code: str) -> StoredTokens:
    context = make_provider(begun.url, PendingTokens(), begun.redirect_uri).context
    context.client_info, context.oauth_metadata = begun.client, begun.issuer
    context.protected_resource_metadata = begun.resource
    form = {
        "grant_type": "authorization_code",
        "code": code,
        "redirect_uri": begun.redirect_uri,
        "client_id": begun.client.client_id or "",
        "code_verifier": begun.verifier,
    }
    if context.should_include_resource_param(LATEST_PROTOCOL_VERSION):
        form["resource"] = context.get_resource_url()
    try:
        form, headers = context.prepare_token_auth(form, {})
        request = client.build_request("POST", str(begun.issuer.token_endpoint), data=form, headers=headers)
        response = await client.send(request)
        if not response.is_success:
            raise ServerUnavailable(f"{NO_TOKENS}{describe_response(response)}")
        tokens = await handle_token_response_scopes(response)
        if tokens.scope is None:
            tokens = tokens.model_copy(update={"scope": begun.scope})
        return StoredTokens.issue(begun.url, tokens, begun.client, begun.issuer, begun.resource)
    except (OAuthTokenError, httpx2.HTTPError, httpx2.InvalidURL, ValueError, ArithmeticError) as error:
        raise ServerUnavailable(f"invalid OAuth response ({type(error).__name__})") from None
