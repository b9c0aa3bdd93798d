"""The authorization server of each workspace: its paths, and the metadata by which clients find them."""

import re
from html import escape
from typing import Any

from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.types import Receive, Scope, Send

from onetool.domain.errors import StoreUnavailable
from onetool.domain.identity.client_grant import SCOPE
from onetool.interfaces.rest.auth.middleware import SAFE_METHODS
from onetool.interfaces.rest.current_workspace import split_path
from onetool.interfaces.rest.pages import HEADERS, page
from onetool.interfaces.rest.problems import problem
from onetool.interfaces.rest.resource_metadata import MAX_AGE

from .authorize import AUTHORIZE_PATH, Authorize
from .tokens import GRANT_TYPES, REGISTER_PATH, REVOKE_PATH, TOKEN_PATH, TokenEndpoints

WELL_KNOWN = "/.well-known/oauth-authorization-server"
SLUG = re.compile(r"[a-z0-9-]{1,63}")
PATHS = frozenset({AUTHORIZE_PATH, TOKEN_PATH, REVOKE_PATH, REGISTER_PATH})


class AuthorizationServer:
    """Issues tokens for the MCP endpoints. Host, Origin and size of requests are checked before."""

    def __init__(
        self, public_url: str, authorize: Authorize, tokens: TokenEndpoints, *, accepts_registration: bool
    ) -> None:
        self._public_url, self._authorize, self._tokens = public_url, authorize, tokens
        self._accepts_registration = accepts_registration

    def serves(self, path: str) -> bool:
        """Return whether a path belongs to the authorization server of a workspace."""
        slug, inside = _split(path)
        return SLUG.fullmatch(slug) is not None and inside in (*PATHS, WELL_KNOWN)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Respond to a request."""
        request = Request(scope, receive)
        slug, path = _split(scope["path"])
        try:
            if path == AUTHORIZE_PATH:
                response = await self._authorize.respond(request, slug)
            elif path == WELL_KNOWN:
                response = self._describe(request, slug)
            else:
                response = await self._tokens.respond(request, slug, path)
        except StoreUnavailable:
            response = _unavailable(path)
        await response(scope, receive, send)

    def _describe(self, request: Request, slug: str) -> Response:
        if request.method not in SAFE_METHODS:
            return problem(405, f"{request.method} is not allowed here.", headers={"Allow": "GET"})
        return JSONResponse(self.metadata(slug), headers=MAX_AGE)

    def metadata(self, slug: str) -> dict[str, Any]:
        """Return where the endpoints of a workspace are, and what they support (RFC 8414)."""
        issuer = f"{self._public_url}/w/{slug}"
        registration = {"registration_endpoint": issuer + REGISTER_PATH} if self._accepts_registration else {}
        return {
            "issuer": issuer,
            "authorization_endpoint": issuer + AUTHORIZE_PATH,
            "token_endpoint": issuer + TOKEN_PATH,
            "revocation_endpoint": issuer + REVOKE_PATH,
            **registration,
            "response_types_supported": ["code"],
            "response_modes_supported": ["query"],
            "grant_types_supported": list(GRANT_TYPES),
            "scopes_supported": [SCOPE],
            "token_endpoint_auth_methods_supported": ["none"],
            "revocation_endpoint_auth_methods_supported": ["none"],
            "code_challenge_methods_supported": ["S256"],
            "authorization_response_iss_parameter_supported": True,
            "client_id_metadata_document_supported": True,
        }


def _split(path: str) -> tuple[str, str]:
    """Return the workspace of a path, and the path in it; for metadata, WELL_KNOWN."""
    if path.startswith(f"{WELL_KNOWN}/w/"):
        return path.removeprefix(f"{WELL_KNOWN}/w/"), WELL_KNOWN
    return split_path(path)


def _unavailable(path: str) -> Response:
    detail = "The database is not available. Try again."
    if path != AUTHORIZE_PATH:
        body = {"error": "temporarily_unavailable", "error_description": detail}
        return JSONResponse(body, 503, {"Retry-After": "5", "Cache-Control": "no-store"})
    response = page(503, "The client cannot be allowed", f"<p>{escape(detail)}</p>")
    response.headers.update(HEADERS)
    return response
