"""The screens as files: one page, and what it loads. They hold no data, and are the same for everybody."""

from hashlib import sha256
from mimetypes import guess_type
from pathlib import Path
from typing import NamedTuple

from starlette.datastructures import Headers
from starlette.responses import HTMLResponse, JSONResponse, Response
from starlette.types import Receive, Scope, Send

BUILT = Path(__file__).parent / "static"
INDEX = "/index.html"
PARTS = "/assets/"
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; style-src-attr 'unsafe-inline'; "
    "img-src 'self' data:; "
    "font-src 'self'; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
"""Only our own scripts and style sheets; in attributes styles may stand, as libraries write them."""
HEADERS = {
    "Content-Security-Policy": POLICY,
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "X-Frame-Options": "DENY",
    "Vary": "Accept",
}
FOR_EVER, ASK_AGAIN = "public, max-age=31536000, immutable", "no-cache"
MEDIA = {".js": "text/javascript", ".css": "text/css", ".svg": "image/svg+xml", ".woff2": "font/woff2"}
"""What the system's own table may not know, or know wrongly."""
NOT_BUILT = """<!doctype html>
<html lang="en"><meta charset="utf-8"><title>OneTool</title>
<h1>The screens are not built</h1>
<p>Build them with <code>just web</code>, then load this page again. Everything else works without them.</p>
</html>
"""


class File(NamedTuple):
    """A built file."""

    content: bytes
    media: str
    tag: str
    """Moves with the content."""


class Screens:
    """Answers with what was built; a path is looked up, and never joined to a directory."""

    def __init__(self, folder: Path = BUILT) -> None:
        self._folder = folder
        self._files = _read(folder)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a GET."""
        answer = self._answer(scope["path"], Headers(scope=scope))
        await answer(scope, receive, send)

    def _answer(self, path: str, headers: Headers) -> Response:
        if INDEX not in self._files:  # it may have been built meanwhile
            self._files = _read(self._folder)
        is_part = path.startswith(PARTS) or (path in self._files and path != INDEX)
        file = self._files.get(path if is_part else INDEX)
        if file is None:
            return _missing(path) if is_part else HTMLResponse(NOT_BUILT, 503, HEADERS)
        caching = {"Cache-Control": FOR_EVER if is_part else ASK_AGAIN, "ETag": file.tag}
        if file.tag in headers.get("if-none-match", ""):
            return Response(status_code=304, headers=HEADERS | caching)
        return Response(file.content, headers=HEADERS | caching, media_type=file.media)


def _missing(path: str) -> Response:
    body = {"type": "about:blank", "title": "Not Found", "status": 404}
    detail = f"There is no file {path[:200]!r}. Load the page again."
    return JSONResponse(body | {"detail": detail}, 404, HEADERS, media_type="application/problem+json")


def _read(folder: Path) -> dict[str, File]:
    """Every file of a directory by its path on the server; what a link leads to is not ours."""
    files = [path for path in folder.rglob("*") if path.is_file() and not path.is_symlink()]
    return {f"/{path.relative_to(folder).as_posix()}": _file(path) for path in files}


def _file(path: Path) -> File:
    content = path.read_bytes()
    media = MEDIA.get(path.suffix) or guess_type(path.name)[0] or "application/octet-stream"
    return File(content, media, f'"{sha256(content).hexdigest()[:32]}"')
