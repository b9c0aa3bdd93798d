"""What a client wrote, turned into what is stored: every mistake in one message."""

from collections.abc import Mapping, Sequence
from typing import Any, TypeVar

import orjson
from pydantic import BaseModel, ValidationError

from onetool.domain.bundle import Bundle, InvalidBundle, Pair, ToolVersion
from onetool.domain.bundle_bodies import BundleBody, ToolBody, tell_mistakes
from onetool.domain.bundle_ids import check_slug, check_stored_id
from onetool.domain.errors import InvalidTool
from onetool.domain.json_text import is_json
from onetool.domain.schemas import compile_schema
from onetool.domain.templates import check_http_impl
from onetool.domain.tool import CURRENT

S = TypeVar("S", bound=BaseModel)


def check_shape(kind: type[S], body: Any) -> S:
    """Return a body in its shape.

    Raises InvalidBundle with each wrong field, what it holds and what belongs there.
    """
    try:
        return kind.model_validate(body)
    except ValidationError as error:
        raise InvalidBundle(tell_mistakes(error.errors(include_url=False, include_context=False))) from None


def draft_bundle(bundle_id: str, body: BundleBody) -> Bundle:
    """Make a bundle of what was written; its times are still to be set.

    Raises InvalidBundle.
    """
    return Bundle(
        id=check_stored_id(bundle_id, "bundleID"),
        slug=check_slug(body.slug),
        display_name=body.displayName,
        description=body.description,
        is_enabled=body.isEnabled,
    )


def draft_tool(tool_id: str, pair: Pair, body: ToolBody, allowed_hosts: Sequence[str]) -> ToolVersion:
    """Make a tool version of what was written; its times are still to be set.

    Raises InvalidBundle.
    """
    if pair[2] == CURRENT:
        raise InvalidBundle(f"version {CURRENT!r} stands for tools that are not stored. Example: 1.0.0")
    tool = ToolVersion(
        id=check_stored_id(tool_id, "toolID"),
        bundle_id=pair[0],
        slug=pair[1],
        version=pair[2],
        type=body.type,
        arg_schema=_schema("argSchema", body.argSchema),
        output_schema=_schema("outputSchema", body.outputSchema) if body.outputSchema is not None else None,
        display_name=body.displayName,
        description=body.description,
        tags=tuple(dict.fromkeys(body.tags)),
        is_enabled=body.isEnabled,
        python_impl=_said(body.pythonImpl),
        http_impl=_said(body.httpImpl),
        limits=_said(body.limits),
    )
    _check_numbers(tool.to_json())
    if tool.arg_schema.get("type") != "object":
        raise InvalidBundle('argSchema: must have "type": "object"; arguments are given by name.')
    if tool.http_impl is not None:
        check_http_impl(tool.http_impl, tool.arg_schema, allowed_hosts)
    return tool


def _check_numbers(value: Any) -> None:
    """Refuse numbers that another reader of JSON could not take."""
    try:
        orjson.dumps(value)
    except TypeError:
        raise InvalidBundle("a whole number is out of range: 64 bits are allowed.") from None
    if not is_json(value):
        raise InvalidBundle("a number is out of range: JSON has no NaN and no Infinity.")


def _said(part: BaseModel | None) -> dict[str, Any] | None:
    """A part as JSON, without what was left out."""
    return None if part is None else part.model_dump(by_alias=True, exclude_unset=True, mode="json")


def _schema(field: str, schema: Mapping[str, Any]) -> Mapping[str, Any]:
    try:
        compile_schema(schema)
    except InvalidTool as error:
        raise InvalidBundle(f"{field}: not valid JSON Schema: {error}") from None
    return schema
