"""Rows of tools in the bundle index."""

from collections.abc import Mapping
from typing import NamedTuple

import orjson

from onetool.domain.bundles.bundle import Bundle, ToolVersion
from onetool.domain.bundles.names import function_name
from onetool.domain.bundles.ranking import normalize_name, search_entry, searchable_words
from onetool.domain.search.terms import FieldTerms

COLUMNS = (
    "id",
    "bundle_id",
    "slug",
    "version",
    "enabled",
    "created_at",
    "modified_at",
    "slug_key",
    "name_key",
    "word_list",
    "stamp",
    "body",
)
"""The columns that depend only on the tool and its file."""


class ToolRow(NamedTuple):
    """The row of a tool."""

    tool: ToolVersion
    values: Mapping[str, object]
    """The values of COLUMNS, and the two function names that are possible."""
    size: int
    """Size in bytes, without words."""
    terms: FieldTerms
    """The terms of its own texts, without those of the pack's name."""


def tool_row(tool: ToolVersion, stamp: str) -> ToolRow:
    """Return the row of a tool.

    stamp: the state of its file.
    """
    body = to_body(tool)
    values = {
        "id": tool.id,
        "bundle_id": tool.bundle_id,
        "slug": tool.slug,
        "version": tool.version,
        "enabled": tool.is_enabled,
        "created_at": tool.created_at,
        "modified_at": tool.modified_at,
        "slug_key": normalize_name(tool.slug),
        "name_key": normalize_name(tool.display_name),
        "word_list": f" {' '.join(sorted(searchable_words(tool)))} ",
        "stamp": stamp,
        "body": body,
        "func": function_name(tool.slug, None),
        "long_func": function_name(tool.slug, ""),
    }
    return ToolRow(tool, values, len(body), search_entry(tool).terms())


def to_body(record: Bundle | ToolVersion) -> bytes:
    """Return the JSON form of a record, which queries return."""
    return orjson.dumps(record.to_json())
