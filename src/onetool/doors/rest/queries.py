"""What several routes share: query parameters, uploads, replies."""

from typing import Annotated, Any

from fastapi import Path, Query, Response

from onetool.domain.bundle_ids import check_id
from onetool.domain.json_text import encode
from onetool.domain.page_tokens import LARGEST_PAGE, read_token

DEFAULT_PAGE = 25
UUID7 = "^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$"
EXAMPLE = "0198c5a0-7e4d-7c3a-8a51-1f0e5b2d9c77"
IncludeDisabled = Annotated[bool, Query(description="Show what is switched off too.")]
PageSize = Annotated[int | None, Query(ge=1, le=LARGEST_PAGE, description="How many at most.")]
PageToken = Annotated[
    str | None,
    Query(max_length=8_000, description="nextPageToken of the page before; it carries the filters."),
]


BundleID = Annotated[str, Path(alias="bundleID", json_schema_extra={"pattern": UUID7, "examples": [EXAMPLE]})]
Slug = Annotated[
    str,
    Path(
        alias="toolSlug",
        description="Letters and digits of any script, and dashes.",
        json_schema_extra={"pattern": "^[A-Za-z0-9-]{1,64}$", "examples": ["read-file"]},
    ),
]
Version = Annotated[
    str,
    Path(
        alias="version",
        description="As a slug, and dots.",
        json_schema_extra={"pattern": "^[A-Za-z0-9-][A-Za-z0-9.-]{0,63}$", "examples": ["1.0.0"]},
    ),
]


def one_by_one(values: list[str] | None) -> list[str] | None:
    """Values that were repeated, or separated by commas."""
    if values is None:
        return None
    return [part for value in values for part in value.split(",") if part]


def known_ids(values: list[str] | None) -> list[str] | None:
    """Ids of bundles, each in its usual form.

    Raises InvalidBundle.
    """
    ids = one_by_one(values)
    return None if ids is None else [check_id(one, "bundleIDs") for one in ids]


def page_state(token: str | None, size: int | None, **filters: Any) -> dict[str, Any]:
    """Where a listing stands: at its beginning, or where the token says; a size that is given now holds.

    Raises InvalidBundle for a token of another listing.
    """
    begin = {**filters, "size": size or DEFAULT_PAGE}
    if token is None:
        return begin
    state = read_token(token, begin)
    return {**state, "size": size or state["size"]}


def chosen(values: list[str] | None) -> frozenset[str] | None:
    """A filter: None for everything."""
    return None if values is None else frozenset(values)


def upload(media: str) -> dict[str, Any]:
    """How the documentation shows a route that takes a file."""
    content = {media: {"schema": {"type": "string", "format": "binary"}}}
    return {"requestBody": {"required": True, "content": content}}


def reply(value: Any, status: int = 200) -> Response:
    """Answer with JSON that is known to be in its shape."""
    return Response(encode(value), status, media_type="application/json")
