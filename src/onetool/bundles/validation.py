"""Validation of bundles and tools that clients send, and conversion to what is stored."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, TypeVar

import orjson
from pydantic import BaseModel, ValidationError

from onetool.domain.bundles.bundle import (
    Bundle,
    FieldError,
    InvalidBundle,
    ToolKey,
    ToolVersion,
    invalid_field,
)
from onetool.domain.bundles.identifiers import check_slug, check_stored_id
from onetool.domain.bundles.schemas import BundleBody, ToolBody, field_errors, join_errors
from onetool.domain.errors import InvalidTool
from onetool.domain.http.templates import check_http_impl
from onetool.domain.text.json_text import is_json
from onetool.domain.tools.json_schema import compile_schema

from .code_tools import check_limits, complete_code_impl

S = TypeVar("S", bound=BaseModel)


def validate_body(schema: type[S], body: Any) -> S:
    """Validate a request body.

    Raises:
        InvalidBundle: The message lists every invalid field, its value and what is expected.
    """
    try:
        return schema.model_validate(body)
    except ValidationError as error:
        errors = field_errors(error.errors(include_url=False, include_context=False))
        raise InvalidBundle(join_errors(errors), errors=errors) from None


def check_tags(tags: Sequence[str]) -> None:
    """Check that lists can be filtered by each tag. Archives may have others, of earlier versions of OneTool.

    Raises:
        InvalidBundle: A tag is empty, or contains a comma, which separates the tags of a filter.
    """
    wrong = [(number, tag) for number, tag in enumerate(tags) if not tag.strip() or "," in tag]
    rule = "must be a text without commas, because lists are filtered by tags separated by commas"
    if errors := [FieldError(f"tags.{number}", f"{rule}, not {tag!r}") for number, tag in wrong]:
        raise InvalidBundle(join_errors(errors), errors=errors)


def draft_bundle(bundle_id: str, body: BundleBody) -> Bundle:
    """Create a bundle from a valid body. Its timestamps are not set.

    Raises:
        InvalidBundle: The id or the slug is invalid.
    """
    return Bundle(
        id=check_stored_id(bundle_id, "bundleID"),
        slug=check_slug(body.slug),
        display_name=body.displayName,
        description=body.description,
        is_enabled=body.isEnabled,
    )


def draft_tool(tool_id: str, key: ToolKey, body: ToolBody, allowed_hosts: Sequence[str]) -> ToolVersion:
    """Create a tool version from a valid body. Its timestamps are not set.

    Raises:
        InvalidBundle: The id, the version, a schema or the implementation is invalid.
    """
    tool = ToolVersion(
        id=check_stored_id(tool_id, "toolID"),
        bundle_id=key[0],
        slug=key[1],
        version=key[2],
        type=body.type,
        arg_schema=_check_schema("argSchema", body.argSchema),
        output_schema=None if body.outputSchema is None else _check_schema("outputSchema", body.outputSchema),
        display_name=body.displayName,
        description=body.description,
        tags=tuple(dict.fromkeys(body.tags)),
        is_enabled=body.isEnabled,
        python_impl=_dump(body.pythonImpl),
        http_impl=_dump(body.httpImpl),
        code_impl=_dump(body.codeImpl),
        limits=_dump(body.limits),
    )
    check_numbers(tool.to_json())
    if tool.arg_schema.get("type") != "object":
        raise invalid_field("argSchema", 'must have "type": "object", because arguments are passed by name.')
    if tool.http_impl is not None:
        check_http_impl(tool.http_impl, tool.arg_schema, allowed_hosts)
    if tool.code_impl is not None:
        check_limits(tool.limits)
        return replace(tool, code_impl=complete_code_impl(tool.code_impl, tool.arg_schema))
    return tool


def check_numbers(value: Any) -> None:
    """Reject numbers that other JSON parsers cannot read.

    Raises:
        InvalidBundle: A number is out of range, or the value is nested too deeply.
    """
    try:
        orjson.dumps(value)
    except TypeError:
        raise InvalidBundle("an integer is out of range: at most 64 bits are supported.") from None
    if not is_json(value):
        raise InvalidBundle("a number is out of range: JSON has no NaN and no Infinity.")


def _dump(part: BaseModel | None) -> dict[str, Any] | None:
    """Return the fields that were set, as JSON values."""
    return None if part is None else part.model_dump(by_alias=True, exclude_unset=True, mode="json")


def _check_schema(field: str, schema: Mapping[str, Any]) -> Mapping[str, Any]:
    try:
        compile_schema(schema)
    except InvalidTool as error:
        raise invalid_field(field, f"not valid JSON Schema: {error}") from None
    return schema
