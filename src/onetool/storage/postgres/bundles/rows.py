"""Rows of tools, and the words by which they are found."""

from collections.abc import Iterable
from typing import Any, NamedTuple

import orjson

from onetool.domain.bundles.bundle import Bundle, StoredTool, ToolVersion
from onetool.domain.bundles.names import function_name
from onetool.domain.bundles.ranking import normalize_name, search_entry, searchable_words
from onetool.domain.search.terms import FieldTerms, index_terms, name_pairs
from onetool.domain.search.tokenizer import tokenize
from onetool.storage.postgres.texts import to_storable

MAX_LEXEME = 500
"""Characters of a word that are indexed. PostgreSQL takes up to 2,046 bytes."""
MAX_WORDS = 5_000
"""Words of a tool that are indexed."""


class ToolTerms(NamedTuple):
    """The terms of a tool, with those of its pack's name."""

    fields: FieldTerms

    @property
    def lengths(self) -> list[int]:
        """The number of terms of each field."""
        return [len(field) for field in self.fields]

    @property
    def words(self) -> set[str]:
        """The terms as they are in the texts."""
        return {term for field in self.fields for term in field}

    @property
    def all(self) -> set[str]:
        """All terms by which the tool is found, also synonyms, and adjacent words of the name as one."""
        found = {term for field in self.fields for term in index_terms(field)}
        return found | set(name_pairs(self.fields[0]))

    def to_text(self) -> str:
        """Return the terms of the fields as one text."""
        return "\n".join(" ".join(field) for field in self.fields)

    @staticmethod
    def from_text(text: str) -> "ToolTerms":
        """Read the output of `to_text`."""
        return ToolTerms([field.split() for field in text.split("\n")])

    @staticmethod
    def of(tool: ToolVersion, bundle: Bundle) -> "ToolTerms":
        """Return the terms of a tool in a bundle."""
        name, *rest = search_entry(tool).terms()
        return ToolTerms([[*tokenize(bundle.slug), *name], *rest])


def tool_values(tool: ToolVersion, bundle: Bundle, terms: ToolTerms) -> dict[str, Any]:
    """Return the values of a row that do not depend on other rows, and both function names it may get."""
    short, long = function_name(tool.slug, None), function_name(tool.slug, "")
    return {
        "id": tool.id,
        "bundle_id": tool.bundle_id,
        "slug": tool.slug,
        "version": tool.version,
        "listed": not bundle.soft_deleted_at,
        "bundle_enabled": bundle.is_enabled,
        "enabled": tool.is_enabled,
        "created_at": tool.created_at,
        "modified_at": tool.modified_at,
        "slug_key": normalize_name(tool.slug),
        "name_key": to_storable(normalize_name(tool.display_name)),
        "tags": [to_storable(tag) for tag in tool.tags],
        "body": to_body(tool),
        "term_list": terms.to_text(),
        "words": lexemes(searchable_words(tool)),
        "terms": lexemes(terms.all),
        "func": short,
        "func_key": short.casefold(),
        "long_func": long,
        "long_func_key": long.casefold(),
    }


def to_body(record: Bundle | ToolVersion) -> str:
    """Return the JSON form of a record."""
    return orjson.dumps(record.to_json()).decode()


def stored_tool(tool: str, bundle: str, pack: str, func: str) -> StoredTool:
    """Return the tool of a row."""
    return StoredTool(
        ToolVersion.from_json(orjson.loads(tool)), Bundle.from_json(orjson.loads(bundle)), f"{pack}.{func}"
    )


def lexemes(words: Iterable[str]) -> list[str]:
    """Return words as they are indexed, and as they are searched for."""
    return sorted({to_storable(word)[:MAX_LEXEME] for word in words} - {""})[:MAX_WORDS]


def to_query(words: Iterable[str], operator: str, suffix: str = "") -> str:
    """Return a query of text search for all (`&`) or any (`|`) of the words; with `:*`, for their starts."""
    quoted = (word.replace("\\", "\\\\").replace("'", "''") for word in lexemes(words))
    return f" {operator} ".join(f"'{word}'{suffix}" for word in quoted)
