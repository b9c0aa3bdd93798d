"""`/oauth/token`, `/oauth/revoke` and `/oauth/register`: what clients of the authorization server send."""

import base64
import hashlib
import re
import time
from collections.abc import Callable, Mapping
from typing import Protocol

import orjson
from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from onetool.domain.identity.client_grant import SCOPE, ClientTokens, CodeProof
from onetool.domain.identity.interface import PROCESS, acting_through
from onetool.domain.identity.oauth_client import InvalidClient, OAuthClient
from onetool.domain.identity.principal import Principal, acting_as
from onetool.interfaces.rest.auth.wrong_tokens import WrongTokens
from onetool.interfaces.rest.pages import unique_parameters
from onetool.interfaces.rest.problems import ProblemError

TOKEN_PATH, REVOKE_PATH, REGISTER_PATH = "/oauth/token", "/oauth/revoke", "/oauth/register"
GRANT_TYPES = ("authorization_code", "refresh_token")
VERIFIER = re.compile(r"[A-Za-z0-9._~-]{43,128}")
SERVER = Principal(PROCESS)
"""Who revokes a grant because one of its tokens was stolen."""
FORM_TYPE = "application/x-www-form-urlencoded"

Register = Callable[[str, object], OAuthClient]
"""Returns a new client of a workspace. Raises InvalidClient."""


class TokenGrants(Protocol):
    """Exchanges codes and refresh tokens of clients. Nothing reveals whether a workspace exists."""

    async def redeem(self, slug: str, code: str, proof: CodeProof) -> ClientTokens | None:
        """Return tokens in place of a code; None if it is not valid."""
        ...

    async def refresh(self, slug: str, token: str, client_id: str) -> ClientTokens | None:
        """Return tokens in place of a refresh token; None if it is not valid."""
        ...

    async def revoke(self, slug: str, token: str, client_id: str) -> None:
        """Revoke the grant of a token, if there is one."""
        ...


class _OAuthError(Exception):
    """A request of a client is refused (RFC 6749, section 5.2)."""

    def __init__(self, error: str, description: str, status: int = 400) -> None:
        super().__init__(description)
        self.error, self.status = error, status


class TokenEndpoints:
    """Serves clients, which have no secret of their own."""

    def __init__(
        self, public_url: str, grants: TokenGrants, register: Register | None, wrong_tokens: WrongTokens
    ) -> None:
        """register: None if clients cannot register themselves."""
        self._public_url, self._grants, self._register = public_url, grants, register
        self._wrong_tokens = wrong_tokens

    async def respond(self, request: Request, slug: str, path: str) -> Response:
        """Respond to a client."""
        try:
            if request.method != "POST":
                raise ProblemError(405, f"{request.method} is not allowed.", headers={"Allow": "POST"})
            with acting_as(SERVER), acting_through("rest"):
                response = await self._respond(request, slug, path)
        except _OAuthError as error:
            if error.error in ("invalid_grant", "invalid_client"):
                await self._wrong_tokens.delay(request.scope, request.receive)
            response = _error(error.status, error.error, str(error))
        except ProblemError as error:
            response = _error(error.status, "invalid_request", str(error))
            response.headers.update(error.headers or {})
        response.headers.update({"Cache-Control": "no-store", "Pragma": "no-cache"})
        return response

    async def _respond(self, request: Request, slug: str, path: str) -> Response:
        if path == REGISTER_PATH:
            return await self._add_client(request, slug)
        form = await _form(request)
        if path == REVOKE_PATH:
            await self._grants.revoke(slug, _required(form, "token"), _required(form, "client_id"))
            return Response(status_code=200)
        tokens = await self._tokens(slug, form)
        if tokens is None:
            raise _OAuthError("invalid_grant", "The code or token is unknown, used, expired or not yours.")
        body = {
            "access_token": tokens.access,
            "token_type": "Bearer",
            "expires_in": tokens.lifetime_s,
            "refresh_token": tokens.refresh,
            "scope": SCOPE,
        }
        return JSONResponse(body)

    async def _tokens(self, slug: str, form: Mapping[str, str]) -> ClientTokens | None:
        grant_type, client = _required(form, "grant_type"), _required(form, "client_id")
        if grant_type not in GRANT_TYPES:
            raise _OAuthError("unsupported_grant_type", f"Valid: {', '.join(GRANT_TYPES)}.")
        resource = f"{self._public_url}/w/{slug}/mcp"
        if form.get("resource", resource) != resource:
            raise _OAuthError("invalid_target", f"resource must be {resource}.")
        if grant_type == "refresh_token":
            if form.get("scope", SCOPE) != SCOPE:
                raise _OAuthError("invalid_scope", f"scope must be {SCOPE}.")
            return await self._grants.refresh(slug, _required(form, "refresh_token"), client)
        verifier = _required(form, "code_verifier")
        if VERIFIER.fullmatch(verifier) is None:
            raise _OAuthError("invalid_request", "code_verifier must have 43 to 128 characters (PKCE).")
        proof = CodeProof(client, _required(form, "redirect_uri"), _challenge(verifier))
        return await self._grants.redeem(slug, _required(form, "code"), proof)

    async def _add_client(self, request: Request, slug: str) -> Response:
        """Register a client (RFC 7591). What one address does often becomes slow."""
        if self._register is None:
            raise ProblemError(404, "Clients cannot register themselves here. Publish a document instead.")
        content = await request.body()
        await self._wrong_tokens.delay(request.scope, request.receive)  # of which it reads nothing any more
        try:
            document = orjson.loads(content)
        except ValueError:
            document = None
        try:
            client = self._register(slug, document)
        except InvalidClient as error:
            raise _OAuthError("invalid_client_metadata", str(error)) from None
        body = {
            "client_id": client.id,
            "client_id_issued_at": int(time.time()),
            "client_name": client.name,
            "redirect_uris": list(client.redirect_uris),
            "grant_types": list(GRANT_TYPES),
            "response_types": ["code"],
            "token_endpoint_auth_method": "none",
            "scope": SCOPE,
        }
        return JSONResponse(body, 201)


async def _form(request: Request) -> dict[str, str]:
    """Return the form of a client.

    Raises:
        _OAuthError: It is no form, or the client has a secret, which no client of this server has.
    """
    if request.headers.get("content-type", "").partition(";")[0].strip().lower() != FORM_TYPE:
        raise _OAuthError("invalid_request", f"The body must be a form ({FORM_TYPE}).")
    if "authorization" in request.headers:
        raise _OAuthError("invalid_client", "Clients have no secret here. Send only client_id.", 401)
    form = unique_parameters(await request.body())
    if form.get("client_secret") or form.get("client_assertion"):
        raise _OAuthError("invalid_client", "Clients have no secret here. Send only client_id.", 401)
    return form


def _required(form: Mapping[str, str], name: str) -> str:
    if not form.get(name):
        raise _OAuthError("invalid_request", f"{name} is missing.")
    return form[name]


def _challenge(verifier: str) -> str:
    """Return the PKCE challenge of a verifier, with S256."""
    digest = hashlib.sha256(verifier.encode()).digest()
    return base64.urlsafe_b64encode(digest).rstrip(b"=").decode()


def _error(status: int, error: str, description: str) -> Response:
    headers = {"WWW-Authenticate": "Basic"} if status == 401 else None
    return JSONResponse({"error": error, "error_description": description}, status, headers)
