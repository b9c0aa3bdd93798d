"""Where MCP clients get a token for a workspace: protected resource metadata (RFC 9728)."""

from collections.abc import Sequence

from starlette.requests import Request
from starlette.responses import JSONResponse
from starlette.types import Receive, Scope, Send

from .auth.middleware import SAFE_METHODS
from .problems import problem

WELL_KNOWN = "/.well-known/oauth-protected-resource"
MAX_AGE = {"cache-control": "public, max-age=300", "access-control-allow-origin": "*"}


class ResourceMetadata:
    """Describes the MCP endpoint of each workspace. Whether the workspace exists is not revealed."""

    def __init__(self, public_url: str, issuers: Sequence[str]) -> None:
        """issuers: those whose access tokens are accepted."""
        self._public_url, self._issuers = public_url, list(issuers)

    def resource(self, slug: str) -> str:
        """Return the URL for which tokens must be made."""
        return f"{self._public_url}/w/{slug}/mcp"

    def challenge(self, slug: str) -> str:
        """Return the header `WWW-Authenticate` of a response that refuses a request to a workspace."""
        return f'Bearer resource_metadata="{self._public_url}{WELL_KNOWN}/w/{slug}/mcp"'

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
        body = {
            "resource": self.resource(self.slug_of(scope["path"])),
            "authorization_servers": self._issuers,
            "bearer_methods_supported": ["header"],
            "resource_name": "OneTool",
        }
        await JSONResponse(body, headers=MAX_AGE)(scope, receive, send)
