"""Where MCP clients get a token for a workspace: protected resource metadata (RFC 9728)."""

from collections.abc import Sequence

from starlette.requests import Request
from starlette.responses import JSONResponse
from starlette.types import Receive, Scope, Send

from onetool.domain.identity.client_grant import SCOPE

from .auth.middleware import SAFE_METHODS
from .problems import problem

WELL_KNOWN = "/.well-known/oauth-protected-resource"
MAX_AGE = {"cache-control": "public, max-age=300", "access-control-allow-origin": "*"}


class ResourceMetadata:
    """Describes the MCP endpoint of each workspace. Whether the workspace exists is not revealed."""

    def __init__(self, public_url: str, issuers: Sequence[str], *, is_issuer: bool = False) -> None:
        """Create the metadata.

        issuers: others whose access tokens are accepted.
        is_issuer: whether this server issues access tokens itself, for each workspace.
        """
        self._public_url, self._issuers, self._is_issuer = public_url, list(issuers), is_issuer

    def resource(self, slug: str) -> str:
        """Return the URL for which tokens must be made."""
        return f"{self._public_url}/w/{slug}/mcp"

    def challenge(self, slug: str, *, is_wrong: bool) -> str:
        """Return the header `WWW-Authenticate` of a response that refuses a request to a workspace.

        is_wrong: whether the request has a token, which is not valid (RFC 6750).
        """
        error = 'error="invalid_token", ' if is_wrong else ""
        return f'Bearer {error}resource_metadata="{self._public_url}{WELL_KNOWN}/w/{slug}/mcp"'

    def slug_of(self, path: str) -> str:
        """Return the workspace that a path of metadata is about; empty if it is no such path."""
        if not (path.startswith(f"{WELL_KNOWN}/w/") and path.endswith("/mcp")):
            return ""
        slug = path.removeprefix(f"{WELL_KNOWN}/w/").removesuffix("/mcp")
        return slug if slug and slug.isascii() and slug.replace("-", "").isalnum() else ""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Respond with the metadata."""
        request = Request(scope)
        if request.method not in SAFE_METHODS:
            await problem(405, f"{request.method} is not allowed here.")(scope, receive, send)
            return
        slug = self.slug_of(scope["path"])
        own = [f"{self._public_url}/w/{slug}"] if self._is_issuer else []
        body = {
            "resource": self.resource(slug),
            "authorization_servers": [*own, *self._issuers],
            "bearer_methods_supported": ["header"],
            "resource_name": "OneTool",
            **({"scopes_supported": [SCOPE]} if own else {}),
        }
        await JSONResponse(body, headers=MAX_AGE)(scope, receive, send)
