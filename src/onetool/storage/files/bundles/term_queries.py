"""The terms of stored tools in the bundle index, by which tools are found by what they do."""

import sqlite3
from collections.abc import Collection, Iterable, Sequence
from functools import lru_cache
from hashlib import sha256
from typing import Any

import orjson

from onetool.domain.search import tokenizer
from onetool.domain.search.terms import (
    FIELD_COUNT,
    NO_TOOLS,
    FieldTerms,
    IndexedTool,
    TermStatistics,
    index_terms,
    name_pairs,
    similar_terms,
)
from onetool.domain.search.tool_index import ToolIndex

TABLES = f"""
create table term_totals (tools integer not null, {", ".join(f"length_{n}" for n in range(FIELD_COUNT))});
insert into term_totals values (0{", 0" * FIELD_COUNT});
create table vocabulary (term text primary key) without rowid;
"""
FULL_TEXT_TABLES = (
    "create virtual table terms using fts5"
    " (name, summary, more, content='', tokenize=\"unicode61 remove_diacritics 0 tokenchars '='\")",
    "insert into terms (terms, rank) values ('rank', 'bm25(3.0, 1.5, 0.4)')",
    "create virtual table term_counts using fts5vocab (terms, row)",
)
"""The weights select candidates; the ranking weighs their fields itself."""
NAMES = ("term_totals", "vocabulary", "term_counts", "terms")
INACTIVE_ALLOWANCE = 4
"""How many times more matches are read than returned, because some are older versions or disabled."""
MAX_RANKED = 30_000
"""How many matches are ranked to select candidates: about 4 µs each. Of more, any are selected."""
MAX_LENGTH_DIFFERENCE = 3
"""In characters, of a misspelled term and the one that is meant."""
ENABLED = "active and tools.enabled and bundles.enabled and not deleted"
SELECT_TERMS = "select pack || '.' || func, term_list from {} join bundles on bundles.id = bundle_id"


def join_terms(fields: FieldTerms) -> str:
    """Return the terms of the fields of a tool as one text."""
    return "\n".join(" ".join(field) for field in fields)


def add_pack(pack: str, fields: FieldTerms) -> FieldTerms:
    """Add the terms of a pack's name to those of a tool's name."""
    return [[*_pack_terms(pack), *fields[0]], *fields[1:]]


@lru_cache(maxsize=1)
def version() -> str:
    """Return a value that changes when texts give other terms, so that they must be indexed again."""
    rules = (
        tokenizer.SUFFIXES,
        sorted(tokenizer.SYNONYM_GROUPS.items()),
        sorted(tokenizer.STOP_WORDS),
        tokenizer.WORD_PATTERN.pattern,
        tokenizer.CAMEL_CASE_BOUNDARY.pattern,
        tokenizer.MAX_WORD_LENGTH,
    )
    return sha256(repr(rules).encode()).hexdigest()


class TermQueries:
    """The queries and updates of terms in one transaction. Without FTS5, queries read all tools."""

    def __init__(self, connection: sqlite3.Connection, has_full_text: bool) -> None:
        self._connection, self._has_full_text = connection, has_full_text

    def add(self, tools: Sequence[tuple[int, FieldTerms]]) -> None:
        """Index the terms of tools, each with its row number."""
        self._change("insert into terms (rowid, name, summary, more) values (?, ?, ?, ?)", tools, 1)
        words = {term for _, fields in tools for field in fields for term in field if not term.isdigit()}
        self._connection.executemany(
            "insert or ignore into vocabulary values (?)", [(word,) for word in sorted(words)]
        )

    def remove(self, number: int, term_list: str) -> None:
        """Remove the terms of a tool from the index."""
        sql = "insert into terms (terms, rowid, name, summary, more) values ('delete', ?, ?, ?, ?)"
        self._change(sql, [(number, split_terms(term_list))], -1)

    def statistics(self, terms: Collection[str]) -> TermStatistics:
        """Return how common terms are. Versions that are not active count too."""
        ((tools, *lengths),) = self._fetch("select * from term_totals")
        if not tools:
            return NO_TOOLS
        if not self._has_full_text:
            return self._all().statistics(terms)
        marks = ", ".join("?" * len(terms))
        counts = self._fetch(f"select term, doc from term_counts where term in ({marks})", *terms)
        return TermStatistics(tools, lengths, dict(counts))

    def similar(self, terms: Iterable[str]) -> list[str]:
        """Return terms that misspelled ones may stand for. The last tool with a term may be deleted."""
        return [similar for term in terms for similar in similar_terms(term, self._vocabulary(term))]

    def candidates(
        self, terms: Sequence[str], packs: Collection[str] | None, limit: int
    ) -> Sequence[IndexedTool]:
        """Return the enabled tools that match terms best, in all packs or in some."""
        if not self._has_full_text:
            weights = dict.fromkeys(terms, 1.0)
            return self._all(packs).candidates(weights, limit)
        in_packs, values = _in_packs(packs)
        is_ranked = sum(self.statistics(terms).counts.values()) <= MAX_RANKED
        rank, order = ("rank", "order by rank") if is_ranked else ("0", "")
        matches = f"select rowid as number, {rank} as score from terms where terms match ? {order} limit ?"
        rows = self._fetch(
            f"{SELECT_TERMS.format(f'({matches}) join tools using (number)')}"
            f" where {ENABLED}{in_packs} order by score, tools.id limit ?",
            " OR ".join(f'"{term}"' for term in terms),
            INACTIVE_ALLOWANCE * limit if packs is None else -1,
            *values,
            limit,
        )
        return [IndexedTool(name, split_terms(text)) for name, text in rows]

    def _all(self, packs: Collection[str] | None = None) -> ToolIndex:
        in_packs, values = _in_packs(packs)
        sql = f"{SELECT_TERMS.format('tools')} where {ENABLED}{in_packs} order by tools.id"
        return ToolIndex(IndexedTool(name, split_terms(text)) for name, text in self._fetch(sql, *values))

    def _vocabulary(self, term: str) -> list[str]:
        """Return the terms with the same first letter and a similar length."""
        first, length = term[0], len(term)
        rows = self._fetch(
            "select term from vocabulary where term >= ? and term < ? and length(term) between ? and ?",
            first,
            chr(ord(first) + 1),
            length - MAX_LENGTH_DIFFERENCE,
            length + MAX_LENGTH_DIFFERENCE,
        )
        return [term for (term,) in rows]

    def _change(self, sql: str, tools: Sequence[tuple[int, FieldTerms]], sign: int) -> None:
        if self._has_full_text:
            self._connection.executemany(sql, [(number, *_columns(fields)) for number, fields in tools])
        lengths = [sum(map(len, column)) for column in zip(*(fields for _, fields in tools), strict=True)]
        changes = ", ".join(f"length_{n} = length_{n} + ?" for n in range(FIELD_COUNT))
        self._connection.execute(
            f"update term_totals set tools = tools + ?, {changes}",
            [sign * value for value in (len(tools), *(lengths or NO_TOOLS.lengths))],
        )

    def _fetch(self, sql: str, *values: object) -> list[Any]:
        return self._connection.execute(sql, values).fetchall()


def split_terms(text: str) -> list[list[str]]:
    """Read the output of `join_terms`."""
    return [field.split() for field in text.split("\n")]


def _columns(fields: FieldTerms) -> tuple[str, str, str]:
    """Return the texts of the full-text table: the terms with their synonym groups."""
    name, summary, *more = fields
    return (
        " ".join((*index_terms(name), *name_pairs(name))),
        " ".join(index_terms(summary)),
        " ".join(term for field in more for term in index_terms(field)),
    )


@lru_cache(maxsize=1_000)
def _pack_terms(pack: str) -> tuple[str, ...]:
    return tuple(tokenizer.tokenize(pack))


def _in_packs(packs: Collection[str] | None) -> tuple[str, tuple[object, ...]]:
    if packs is None:
        return "", ()
    return " and pack in (select value from json_each(?))", (orjson.dumps(list(packs)).decode(),)
