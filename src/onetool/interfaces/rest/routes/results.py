"""`/results/{handle}`: the bytes of stored results."""

from collections.abc import Mapping
from hashlib import sha256
from typing import Any, NamedTuple

from fastapi import APIRouter, Request, Response

from onetool.domain.content.file_types import file_name, is_shown
from onetool.domain.content.media import OCTET_STREAM
from onetool.domain.identity.principal import current_principal
from onetool.interfaces.rest.byte_ranges import UnsatisfiableRange, parse_range
from onetool.interfaces.rest.problems import ProblemError, problem_responses
from onetool.runtime.runtime import Runtime

SECURITY_HEADERS = {
    "Content-Security-Policy": "sandbox; default-src 'none'",
    "Cross-Origin-Resource-Policy": "same-origin",
}
"""A browser runs nothing in a result, and pages of other origins cannot load it."""
RESPONSES: dict[int | str, dict[str, Any]] = {
    200: {"content": {OCTET_STREAM: {}}, "description": "The bytes"},
    206: {"content": {OCTET_STREAM: {}}, "description": "The range of bytes that was requested"},
    304: {"description": "The client has these bytes"},
    **problem_responses(404, 410, 416),
}


class Body(NamedTuple):
    """The content of a stored result."""

    data: bytes
    mime_type: str
    digest: str


def result_routes(runtime: Runtime) -> APIRouter:
    """Create the routes of stored results."""
    routes = APIRouter(tags=["results"])

    @routes.head("/results/{handle}", include_in_schema=False)
    @routes.get("/results/{handle}", response_class=Response, responses=RESPONSES)
    async def read_result(handle: str, request: Request) -> Response:
        """Read the bytes of a stored text or of media, or one range of them. The `ETag` is their SHA-256.

        Types that may contain scripts, such as HTML and SVG, are sent as `application/octet-stream`.
        """
        return _respond(handle, await _read(runtime, handle), request.headers)

    return routes


async def _read(runtime: Runtime, handle: str) -> Body:
    """Return the content under a handle.

    Raises:
        ProblemError: There is none, it belongs to someone else, or it has expired.
    """
    results, reader = runtime.state.results, current_principal().scope
    if (stored := await results.find(handle, reader=reader)) is None:
        raise ProblemError(404, f"Result {handle[:100]!r} not found.")
    if (media := await results.media(handle, reader=reader)) is not None:
        return Body(media.to_bytes(), media.mime_type, stored.digest)
    if (text := await results.text(handle, reader=reader)) is None:
        raise ProblemError(410, f"Result {handle!r} has expired. Call the tool again.")
    data = text.encode("utf-8", "replace")
    return Body(data, "text/plain", await runtime.threads.run(lambda: sha256(data).hexdigest()))


def _respond(handle: str, body: Body, request: Mapping[str, str]) -> Response:
    etag, size = f'"{body.digest}"', len(body.data)
    headers = SECURITY_HEADERS | {"ETag": etag, "Accept-Ranges": "bytes"}
    if _has_etag(request.get("if-none-match", ""), etag):
        return Response(status_code=304, headers=headers)
    try:
        is_same = request.get("if-range", etag) == etag
        wanted = parse_range(request.get("range") if is_same else None, size)
    except UnsatisfiableRange:
        unsatisfiable = {"Content-Range": f"bytes */{size}"}
        raise ProblemError(416, f"The result has {size} bytes.", headers=unsatisfiable) from None
    headers |= _type_headers(handle, body.mime_type)
    if wanted is None:
        return Response(body.data, headers=headers)
    headers["Content-Range"] = f"bytes {wanted.start}-{wanted.stop - 1}/{size}"
    return Response(body.data[wanted], 206, headers)


def _has_etag(header: str, etag: str) -> bool:
    tags = [tag.strip().removeprefix("W/") for tag in header.split(",")]
    return etag in tags or tags == ["*"]


def _type_headers(handle: str, mime_type: str) -> dict[str, str]:
    if not is_shown(mime_type):
        name = file_name(handle, mime_type)
        disposition = f'attachment; filename="{name}"'
        return {"Content-Type": OCTET_STREAM, "Content-Disposition": disposition}
    return {"Content-Type": f"{mime_type}; charset=utf-8" if mime_type == "text/plain" else mime_type}
