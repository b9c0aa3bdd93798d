"""The static files of the web UI. They contain no user data and are served without a token."""

from hashlib import sha256
from mimetypes import guess_type
from pathlib import Path
from typing import NamedTuple

from starlette.datastructures import Headers
from starlette.responses import HTMLResponse, JSONResponse, Response
from starlette.types import Receive, Scope, Send

STATIC_DIR = Path(__file__).parent / "static"
INDEX = "/index.html"
ASSETS = "/assets/"
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; style-src-attr 'unsafe-inline'; "
    "img-src 'self' data:; media-src 'self'; "
    "font-src 'self'; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
"""Only own scripts and style sheets. Style attributes are allowed because libraries write them."""
HEADERS = {
    "Content-Security-Policy": POLICY,
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "X-Frame-Options": "DENY",
    "Vary": "Accept",
}
IMMUTABLE, REVALIDATE = "public, max-age=31536000, immutable", "no-cache"
MEDIA_TYPES = {".js": "text/javascript", ".css": "text/css", ".svg": "image/svg+xml", ".woff2": "font/woff2"}
"""Media types that the table of the operating system may lack or get wrong."""
NOT_BUILT = """<!doctype html>
<html lang="en"><meta charset="utf-8"><title>OneTool</title>
<h1>The web UI is not built</h1>
<p>Build it with <code>just web</code> and reload this page. Everything else works without it.</p>
</html>
"""


class StaticFile(NamedTuple):
    """A file of the web UI."""

    content: bytes
    media_type: str
    etag: str


class StaticApp:
    """Serves the built files from memory. Request paths are never joined to a directory."""

    def __init__(self, directory: Path = STATIC_DIR) -> None:
        self._directory = directory
        self._files = _read_files(directory)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Respond to a GET request."""
        response = self._respond(scope["path"], Headers(scope=scope))
        await response(scope, receive, send)

    def _respond(self, path: str, headers: Headers) -> Response:
        if INDEX not in self._files:  # may have been built since the start
            self._files = _read_files(self._directory)
        is_asset = path.startswith(ASSETS) or (path in self._files and path != INDEX)
        file = self._files.get(path if is_asset else INDEX)
        if file is None:
            return _not_found(path) if is_asset else HTMLResponse(NOT_BUILT, 503, HEADERS)
        caching = {"Cache-Control": IMMUTABLE if is_asset else REVALIDATE, "ETag": file.etag}
        if file.etag in headers.get("if-none-match", ""):
            return Response(status_code=304, headers=HEADERS | caching)
        return Response(file.content, headers=HEADERS | caching, media_type=file.media_type)


def _not_found(path: str) -> Response:
    body = {"type": "about:blank", "title": "Not Found", "status": 404}
    detail = f"File {path[:200]!r} not found. Reload the page."
    return JSONResponse(body | {"detail": detail}, 404, HEADERS, media_type="application/problem+json")


def _read_files(directory: Path) -> dict[str, StaticFile]:
    """Read all files of a directory by their URL paths. Symbolic links are skipped."""
    files = [path for path in directory.rglob("*") if path.is_file() and not path.is_symlink()]
    return {f"/{path.relative_to(directory).as_posix()}": _read_file(path) for path in files}


def _read_file(path: Path) -> StaticFile:
    content = path.read_bytes()
    media_type = MEDIA_TYPES.get(path.suffix) or guess_type(path.name)[0] or "application/octet-stream"
    return StaticFile(content, media_type, f'"{sha256(content).hexdigest()[:32]}"')
