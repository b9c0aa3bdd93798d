"""Queries of stored bundles in one transaction."""

from collections.abc import Callable, Collection, Iterable, Sequence
from typing import Any, NamedTuple
from uuid import UUID

import orjson

from onetool.domain.bundles.bundle import Bundle, BundleFilter, StoredTool, ToolKey
from onetool.domain.bundles.ranking import SearchHit, SearchPosition, SearchQuery, Tier, normalize_name
from onetool.domain.page import Page
from onetool.domain.search.matching import closest_words
from onetool.domain.search.terms import NO_TOOLS, IndexedTool, TermStatistics, similar_terms
from onetool.domain.search.tokenizer import tokenize
from onetool.storage.postgres.database import Cursor
from onetool.storage.postgres.texts import to_storable

from .rows import ToolTerms, lexemes, stored_tool, to_query

SELECT_TOOLS = """
select tools.body, bundles.body, tools.pack, func from tools
join bundles on bundles.workspace_id = tools.workspace_id and bundles.id = bundle_id
where tools.workspace_id = %(ws)s
"""
SELECTED = """
workspace_id = %(ws)s and listed and (%(with_disabled)s or (enabled and bundle_enabled))
and (not %(active_only)s or active) and (%(bundles)s::text[] is null or bundle_id = any(%(bundles)s))
and (%(tags)s::text[] is null or tags && %(tags)s)
and (%(part)s = '' or strpos(pack_key || '.' || func_key, %(part)s) > 0)
"""
"""The tools that a filter selects."""
ENABLED = "listed and bundle_enabled and enabled and active"
SEARCH = """
select search_tools(%(tier)s, %(prefix)s, %(prefix_end)s, %(words)s::tsquery, %(starts)s::tsquery,
    %(common_starts)s::tsquery, %(slugs)s, %(keys)s, %(terms)s::tsquery, %(bundles)s, %(tags)s,
    %(with_disabled)s, %(active_only)s, %(part)s, %(after)s, %(after_id)s, %(limit)s,
    %(is_rare)s)
"""
PREFIX_COUNTS = """
select (select count(*) from (select from tools where workspace_id = %(ws)s
        and slug_key >= %(prefix)s and slug_key < %(end)s limit %(limit)s) slugs),
    (select count(*) from (select from tools where workspace_id = %(ws)s
        and name_key >= %(prefix)s and name_key < %(end)s limit %(limit)s) names)
"""
LIST = """
select list_tools(%(bundles)s, %(tags)s, %(with_disabled)s, %(active_only)s, %(part)s, %(after)s, %(limit)s)
"""
SIMILAR_WORDS = """
select term from vocabulary
where workspace_id = %(ws)s and is_word
    and levenshtein_less_equal(term, %(word)s, %(distance)s) <= %(distance)s
order by tools desc, term limit %(limit)s
"""
LAST_CHARACTER = "\U0010ffff"
MAX_LENGTH_DIFFERENCE = 3
"""In characters, of a misspelled term and the one that is meant."""
MAX_DISTANCE = 2
"""Characters that are added, removed or replaced in a misspelled word. A swap counts as 2."""
MAX_COMPARED_WORDS = 50
MAX_RARE = 1_000
"""Tools that are read and sorted, instead of looking for matches among the newest tools."""
MAX_COMPLETIONS = 30
"""Words of the workspace with one start that are looked up in the index."""
MAX_SIMILAR_WORDS = 3
"""How many words one misspelled word may stand for."""
MAX_CORRECTED_TERMS = 8
"""Terms of a query that are looked up; further ones are ignored."""


class Similar(NamedTuple):
    """What resembles a query: slugs, or a query of text search for terms."""

    slugs: Sequence[str] = ()
    terms: str = ""


class BundleQueries:
    """Reads the rows of one workspace."""

    def __init__(self, cursor: Cursor, workspace: UUID) -> None:
        self._cursor, self._workspace = cursor, workspace

    def bundle(self, bundle_id: str) -> Bundle | None:
        """Return a bundle, also a deleted one."""
        rows = self._fetch(
            "select body from bundles where workspace_id = %(ws)s and id = %(id)s", id=bundle_id
        )
        return _bundle(rows[0][0]) if rows else None

    def bundles(self, filter: BundleFilter, cursor: str | None, limit: int) -> Page[Bundle]:
        """Return a page of bundles, ordered by id."""
        rows = self._fetch(
            "select body from bundles where workspace_id = %(ws)s and not deleted and id > %(after)s"
            " and (%(all)s or enabled) and (%(ids)s::text[] is null or id = any(%(ids)s))"
            " order by id limit %(limit)s",
            after=cursor or "",
            all=filter.include_disabled,
            ids=_array(filter.bundle_ids),
            limit=limit + 1,
        )
        bundles = [_bundle(row[0]) for row in rows[:limit]]
        return Page(bundles, bundles[-1].id if len(rows) > limit else None)

    def tool(self, key: ToolKey) -> StoredTool | None:
        """Return a tool version, also one of a deleted bundle."""
        bundle, slug, version = key
        found = self._tools(
            "and bundle_id = %(bundle)s and slug = %(slug)s and version = %(version)s",
            bundle=bundle,
            slug=slug,
            version=version,
        )
        return found[0] if found else None

    def versions(self, pack: str, func: str) -> list[StoredTool]:
        """Return all versions of a tool by its name in code, newest first."""
        return self._tools(
            "and listed and tools.pack = %(pack)s and func = %(func)s"
            " order by tools.created_at desc, tools.id desc",
            pack=pack,
            func=func,
        )

    def tools(self, filter: BundleFilter, cursor: str | None, limit: int) -> Page[StoredTool]:
        """Return a page of tools, ordered by id."""
        rows = self._fetch(LIST, after=cursor or "", limit=limit + 1, **_selection(filter))
        ids = [row[0] for row in rows]
        tools = self._by_id(ids[:limit])
        return Page(tools, ids[limit - 1] if len(ids) > limit else None)

    def packs(self) -> list[str]:
        """Return the names of the packs that contain a tool."""
        rows = self._fetch(
            "select pack from bundles where workspace_id = %(ws)s and not deleted"
            " and exists (select from tools where workspace_id = %(ws)s and bundle_id = bundles.id)"
        )
        return [row[0] for row in rows]

    def pack(self, name: str) -> list[StoredTool]:
        """Return the active versions of a pack."""
        return self._tools("and listed and active and tools.pack = %(pack)s order by tools.id", pack=name)

    def named(self, names: Iterable[str]) -> list[StoredTool]:
        """Return the active versions of tools by their names in code."""
        parts = [name.partition(".") for name in names]
        return self._tools(
            "and listed and active and (tools.pack, func) in"
            " (select * from unnest(%(packs)s::text[], %(funcs)s::text[]))",
            packs=[pack for pack, _, _ in parts],
            funcs=[func for _, _, func in parts],
        )

    def pack_sizes(self) -> dict[str, int]:
        """Return the number of enabled tools in each pack that has any."""
        return dict(
            self._fetch(
                f"select pack, count(*) from tools where workspace_id = %(ws)s and {ENABLED}"
                " group by pack order by pack"
            )
        )

    def count(self) -> int:
        """Return the number of tool versions."""
        rows = self._fetch("select tools from term_totals where workspace_id = %(ws)s")
        return int(rows[0][0]) if rows else 0

    def slugs(self, filter: BundleFilter) -> list[str]:
        """Return the distinct slugs of the tools that a filter selects."""
        rows = self._fetch(f"select distinct slug from tools where {SELECTED}", **_selection(filter))
        return [row[0] for row in rows]

    def search(
        self,
        query: SearchQuery,
        filter: BundleFilter,
        similar: Callable[[], Similar],
        after: SearchPosition | None,
        limit: int,
    ) -> list[SearchHit]:
        """Return the best matches, or those after a position. A tier is read only if it is reached.

        similar: returns what resembles the query.
        """
        hits: list[SearchHit] = []
        statistics = self.term_statistics(tokenize(query.text))
        for tier in (Tier.PREFIX, Tier.WORD, Tier.SIMILAR):
            if len(hits) == limit or (after is not None and tier < after.tier):
                continue
            found = similar() if tier is Tier.SIMILAR else Similar()
            position = after if after is not None and tier == after.tier else None
            left = limit - len(hits)
            ids = self._search_tier(
                tier,
                query,
                filter,
                similar=found,
                after=position,
                limit=left,
                is_rare=self._is_rare(tier, query, statistics),
            )
            hits += [SearchHit(tier, tool) for tool in self._by_id(ids)]
        return hits

    def term_statistics(self, terms: Collection[str]) -> TermStatistics:
        """Return how common terms are. Versions that are not active count too."""
        totals = self._fetch("select tools, lengths from term_totals where workspace_id = %(ws)s")
        if not totals or not totals[0][0]:
            return NO_TOOLS
        counts = self._fetch(
            "select term, tools from vocabulary where workspace_id = %(ws)s and term = any(%(terms)s)",
            terms=list(terms),
        )
        return TermStatistics(totals[0][0], totals[0][1], dict(counts))

    def similar_terms(self, terms: Iterable[str]) -> list[str]:
        """Return terms that misspelled ones may stand for."""
        return [similar for term in terms for similar in similar_terms(term, self._vocabulary(term))]

    def candidates(
        self, terms: Sequence[str], packs: Collection[str] | None, limit: int
    ) -> list[IndexedTool]:
        """Return the enabled tools that match terms best."""
        queries = [to_query([term], "|") for term in lexemes(terms)]
        if not queries:
            return []
        rows = self._fetch(
            "select * from candidate_tools(%(terms)s::tsquery[], %(packs)s, %(limit)s)",
            terms=queries,
            packs=_array(packs),
            limit=limit,
        )
        return [IndexedTool(name, ToolTerms.from_text(text).fields) for name, text in rows]

    def corrected(self, text: str) -> str:
        """Return a query for the terms of a text, with what the unknown ones may stand for in their place.

        It is empty if nothing is unknown, or if nothing resembles what is.
        """
        terms = list(dict.fromkeys(tokenize(text)))[:MAX_CORRECTED_TERMS]
        known = self.term_statistics(terms).counts
        if all(term in known for term in terms):
            return ""
        choices = [[term] if term in known else self._similar_words(term) for term in terms]
        return " & ".join(f"({to_query(words, '|')})" for words in choices) if all(choices) else ""

    def _similar_words(self, word: str) -> list[str]:
        """Return the words closest to one that no tool contains."""
        rows = self._fetch(
            SIMILAR_WORDS, word=word, distance=min(MAX_DISTANCE, len(word) // 2), limit=MAX_COMPARED_WORDS
        )
        return closest_words(word, [row[0] for row in rows], MAX_SIMILAR_WORDS)

    def _completed(self, starts: Iterable[str]) -> tuple[str, str]:
        """Return a query for words that start with these, and one for starts that very many words have.

        Both are empty if no word has one of the starts.
        """
        few, many = list[str](), list[str]()
        for start in lexemes(starts):
            rows = self._fetch(
                "select word from words where workspace_id = %(ws)s and word >= %(start)s and word < %(end)s"
                " order by word limit %(limit)s",
                start=start,
                end=start + LAST_CHARACTER,
                limit=MAX_COMPLETIONS + 1,
            )
            if not rows:
                return "", ""
            if len(rows) > MAX_COMPLETIONS:
                many.append(start)
            else:
                few.append(f"({to_query((row[0] for row in rows), '|')})")
        return " & ".join(few), to_query(many, "&", ":*")

    def _vocabulary(self, term: str) -> list[str]:
        """Return the words with the same first letter and a similar length."""
        first, length = term[0], len(term)
        rows = self._fetch(
            "select term from vocabulary where workspace_id = %(ws)s and is_word and term >= %(first)s"
            " and term < %(end)s and length(term) between %(min)s and %(max)s order by term",
            first=first,
            end=chr(ord(first) + 1),
            min=length - MAX_LENGTH_DIFFERENCE,
            max=length + MAX_LENGTH_DIFFERENCE,
        )
        return [row[0] for row in rows]

    def _search_tier(
        self,
        tier: Tier,
        query: SearchQuery,
        filter: BundleFilter,
        *,
        similar: Similar,
        after: SearchPosition | None,
        limit: int,
        is_rare: bool,
    ) -> list[str]:
        """Return the ids of the tools of one tier, newest first."""
        starts, common_starts = self._completed(query.words) if tier is Tier.SIMILAR else ("", "")
        rows = self._fetch(
            SEARCH,
            tier=int(tier),
            prefix=query.prefix,
            prefix_end=query.prefix + LAST_CHARACTER,
            words=to_query(query.words, "&"),
            starts=starts or None,
            common_starts=common_starts or None,
            slugs=list(similar.slugs),
            keys=[normalize_name(slug) for slug in similar.slugs],
            terms=similar.terms or None,
            after=after.modified_at if after else None,
            after_id=after.id if after else None,
            limit=limit,
            is_rare=is_rare,
            **_selection(filter),
        )
        return [row[0] for row in rows]

    def _is_rare(self, tier: Tier, query: SearchQuery, statistics: TermStatistics) -> bool:
        """Return whether few tools can be in a tier, as far as the statistics of the query's terms show."""
        if statistics.tools <= MAX_RARE:
            return True
        if tier is Tier.PREFIX:
            end = query.prefix + LAST_CHARACTER
            counts = self._fetch(PREFIX_COUNTS, prefix=query.prefix, end=end, limit=MAX_RARE + 1)[0]
            return int(max(counts)) <= MAX_RARE
        known = filter(None, statistics.counts.values())
        return tier is Tier.WORD and min(known, default=MAX_RARE + 1) <= MAX_RARE

    def _by_id(self, ids: Sequence[str]) -> list[StoredTool]:
        """Return tools in the order of their ids in the list, without those that were deleted meanwhile."""
        if not ids:
            return []
        found = {
            stored.tool.id: stored for stored in self._tools("and tools.id = any(%(ids)s)", ids=list(ids))
        }
        return [found[id] for id in ids if id in found]

    def _tools(self, condition: str, **values: object) -> list[StoredTool]:
        return [stored_tool(*row) for row in self._fetch(SELECT_TOOLS + condition, **values)]

    def _fetch(self, sql: str, **values: object) -> list[Any]:
        return self._cursor.execute(sql.encode(), {"ws": self._workspace, **values}).fetchall()


def _bundle(body: str) -> Bundle:
    return Bundle.from_json(orjson.loads(body))


def _selection(filter: BundleFilter) -> dict[str, object]:
    """Return the values of a filter."""
    return {
        "with_disabled": filter.include_disabled,
        "active_only": filter.active_only,
        "bundles": _array(filter.bundle_ids),
        "tags": _array(filter.tags),
        "part": to_storable(filter.name_contains.casefold()),
    }


def _array(values: Collection[str] | None) -> list[str] | None:
    return None if values is None else list(values)
