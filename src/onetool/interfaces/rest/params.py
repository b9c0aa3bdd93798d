"""Parameters, uploads and responses that several routes share."""

from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Literal, TypeVar

from fastapi import Path, Query, Response

from onetool.domain.bundles.bundle import InvalidBundle
from onetool.domain.bundles.identifiers import check_id
from onetool.domain.bundles.page_tokens import MAX_PAGE_SIZE, read_token, write_token
from onetool.domain.text.json_text import encode

T = TypeVar("T")
DEFAULT_PAGE_SIZE = 25
MAX_POSITION_DIGITS = 10
UUID7_PATTERN = "^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$"
EXAMPLE_ID = "0198c5a0-7e4d-7c3a-8a51-1f0e5b2d9c77"
IncludeDisabled = Annotated[bool, Query(description="Include disabled entries.")]
PageSize = Annotated[int | None, Query(ge=1, le=MAX_PAGE_SIZE, description="Maximum number of entries.")]
PageToken = Annotated[
    str | None,
    Query(max_length=8_000, description="`nextPageToken` of the previous page. Contains its filters."),
]
MediaFormat = Annotated[
    Literal["handle", "inline"],
    Query(description="`inline` adds the bytes of media to `content`, as base64 in `data`."),
]


BundleID = Annotated[
    str, Path(alias="bundleID", json_schema_extra={"pattern": UUID7_PATTERN, "examples": [EXAMPLE_ID]})
]
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
        description="Like a slug, but dots are allowed.",
        json_schema_extra={"pattern": "^[A-Za-z0-9-][A-Za-z0-9.-]{0,63}$", "examples": ["1.0.0"]},
    ),
]


def split_csv(values: list[str] | None) -> list[str] | None:
    """Split repeated and comma-separated query values into one list."""
    if values is None:
        return None
    return [part for value in values for part in value.split(",") if part]


def parse_bundle_ids(values: list[str] | None) -> list[str] | None:
    """Split and normalize bundle ids.

    Raises:
        InvalidBundle: A value is not a valid id.
    """
    ids = split_csv(values)
    return None if ids is None else [check_id(id_, "bundleIDs") for id_ in ids]


def page_state(token: str | None, size: int | None, **filters: Any) -> dict[str, Any]:
    """Return the filters, position and page size of a listing. `size` overrides the size in the token.

    Raises:
        InvalidBundle: The token belongs to another listing.
    """
    start = {**filters, "size": size or DEFAULT_PAGE_SIZE}
    if token is None:
        return start
    state = read_token(token, start)
    return {**state, "size": size or state["size"]}


def slice_page(items: Sequence[T], state: Mapping[str, Any]) -> tuple[Sequence[T], dict[str, str]]:
    """Return a page of a list, and `nextPageToken` if there are more entries.

    Raises:
        InvalidBundle: The position is not one in this listing.
    """
    after = state["after"] or "0"
    if not (after.isascii() and after.isdigit() and len(after) < MAX_POSITION_DIGITS):
        raise InvalidBundle("pageToken is not valid for this listing. Omit it to start at the first page.")
    end = int(after) + state["size"]
    token = {"nextPageToken": write_token({**state, "after": str(end)})} if end < len(items) else {}
    return items[int(after) : end], token


def as_filter(values: list[str] | None) -> frozenset[str] | None:
    """Return the values as a set, or None for no filter."""
    return None if values is None else frozenset(values)


def upload_schema(media_type: str) -> dict[str, Any]:
    """Return the OpenAPI request body of a route that accepts a file."""
    content = {media_type: {"schema": {"type": "string", "format": "binary"}}}
    return {"requestBody": {"required": True, "content": content}}


def json_response(value: Any, status: int = 200) -> Response:
    """Return a JSON response without validating the value against the response model."""
    return Response(encode(value), status, media_type="application/json")
