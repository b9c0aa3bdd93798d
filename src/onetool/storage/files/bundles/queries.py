"""Queries and updates of the bundle index."""

import sqlite3
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import orjson

from onetool.domain.bundles.bundle import (
    AlreadyExists,
    Bundle,
    BundleFilter,
    StoredTool,
    ToolKey,
    ToolVersion,
)
from onetool.domain.bundles.identifiers import python_name
from onetool.domain.bundles.names import pack_names
from onetool.domain.bundles.ranking import SearchHit, SearchPosition, SearchQuery, Tier, search_entry
from onetool.domain.page import Page

from .conditions import Condition, is_after, is_in_tier, matches_bundle, matches_tool
from .rows import COLUMNS, ToolRow, to_body
from .term_queries import ENABLED, TermQueries, add_pack, join_terms

TOOLS_AND_BUNDLES = "tools join bundles on bundles.id = bundle_id"
SELECT_TOOLS = f"select tools.body, bundles.body, bundles.pack, tools.func from {TOOLS_AND_BUNDLES}"
SELECT_LISTED = f"{SELECT_TOOLS} where not deleted"
INSERT_TOOL = f"""
insert into tools ({", ".join(COLUMNS)}, term_list, func, active)
values ({", ".join(f":{name}" for name in COLUMNS)}, :term_list,
    iif(exists (select 1 from tools where bundle_id = :bundle_id and func = :func and slug <> :slug),
        :long_func, :func),
    not exists (select 1 from tools where bundle_id = :bundle_id and slug = :slug))
"""
"""The first slug with a Python name has it as its function name. A tool without other versions is active."""


class IndexQueries:
    """The queries and updates of one transaction."""

    def __init__(self, connection: sqlite3.Connection, has_full_text: bool) -> None:
        self._connection, self._has_full_text = connection, has_full_text
        self.terms = TermQueries(connection, has_full_text)

    def put_bundle(self, bundle: Bundle) -> None:
        """Write the row of a bundle, and update the pack names of all bundles with the same slug."""
        old = self._fetch_one("select base from bundles where id = ?", bundle.id)
        base = python_name(bundle.slug)
        self._connection.execute(
            "insert or replace into bundles values (?, ?, ?, ?, ?, ?, ?)",
            (bundle.id, base, base, bundle.is_enabled, bool(bundle.soft_deleted_at), "", to_body(bundle)),
        )
        for name in {base, *([old[0]] if old else [])}:
            self._name_packs(name)
        if old and old[0] != base:
            self._rename_terms(bundle)

    def drop_bundle(self, bundle_id: str) -> None:
        """Delete the rows of a bundle and its tools."""
        row = self._fetch_one("select base from bundles where id = ?", bundle_id)
        for (tool_id,) in self._fetch_all("select id from tools where bundle_id = ?", bundle_id):
            self.drop_tool(tool_id)
        self._connection.execute("delete from bundles where id = ?", (bundle_id,))
        if row:
            self._name_packs(row[0])

    def stamp_bundle(self, bundle_id: str, stamp: str) -> None:
        """Record the state of the bundle's directory that these rows reflect."""
        self._connection.execute("update bundles set stamp = ? where id = ?", (stamp, bundle_id))

    def check_unique(self, tool: ToolVersion, *, is_new: bool) -> None:
        """Check that no other tool has the id of this one, and if it is new, that no tool has its key.

        Raises:
            AlreadyExists: Another tool has this id or key.
        """
        rows = self._fetch_all(
            "select id, slug, version, bundle_id from tools"
            " where id = ?1 or (bundle_id = ?2 and slug = ?3 and version = ?4)",
            tool.id,
            *tool.key,
        )
        for tool_id, slug, version, bundle_id in rows:
            if (bundle_id, slug, version) != tool.key:
                raise AlreadyExists(
                    f"The id {tool.id} belongs to another tool: {slug!r} version {version!r}."
                )
            if is_new or tool_id != tool.id:
                raise AlreadyExists

    def put_tools(self, rows: Sequence[ToolRow], bundle: Bundle | None) -> list[StoredTool]:
        """Insert the rows of tools of one bundle. No rows may have their ids or keys.

        Raises:
            LookupError: The bundle has no row, because its record has become unreadable.
        """
        bundle_id = bundle.id if bundle else ""
        packs = self._fetch_one("select pack from bundles where id = ?", bundle_id)
        if bundle is None or packs is None:
            raise LookupError("Cannot read the bundle of the tool.")
        first: int = self._fetch_one("select coalesce(max(number), 0) + 1 from tools")[0]
        terms = [add_pack(bundle.slug, row.terms) for row in rows]
        self._connection.executemany(
            INSERT_TOOL,
            [
                {**row.values, "term_list": join_terms(fields)}
                for row, fields in zip(rows, terms, strict=True)
            ],
        )
        if tags := [(tag, row.tool.id) for row in rows for tag in set(row.tool.tags)]:
            self._connection.executemany("insert into tags values (?, ?)", tags)
        if self._has_full_text:
            self._connection.execute(
                "insert into words (rowid, text) select number, word_list from tools where number >= ?",
                (first,),
            )
        self.terms.add(list(enumerate(terms, first)))
        inserted = self._fetch_all(
            "select slug, active, func from tools where number >= ? order by number", first
        )
        for slug in {slug for slug, active, _ in inserted if not active}:
            self._mark_active(bundle_id, slug)
        names = [f"{packs[0]}.{func}" for _, _, func in inserted]
        return [StoredTool(row.tool, bundle, name) for row, name in zip(rows, names, strict=True)]

    def drop_tool(self, tool_id: str) -> None:
        """Delete the rows of a tool."""
        row = self._fetch_one(
            "select number, word_list, bundle_id, slug, term_list from tools where id = ?", tool_id
        )
        if row is None:
            return
        number, word_list, bundle_id, slug, term_list = row
        self._connection.execute("delete from tools where id = ?", (tool_id,))
        self._connection.execute("delete from tags where tool_id = ?", (tool_id,))
        if self._has_full_text:
            self._connection.execute(
                "insert into words (words, rowid, text) values ('delete', ?, ?)", (number, word_list)
            )
        self.terms.remove(number, term_list)
        self._mark_active(bundle_id, slug)

    def boot_id(self) -> str | None:
        """Return the boot of the machine in which all bundles were last compared with their files."""
        row = self._fetch_one("select id from boots")
        return row[0] if row else None

    def set_boot_id(self, boot_id: str) -> None:
        """Record the boot of the machine in which all bundles were compared with their files."""
        self._connection.execute("delete from boots")
        self._connection.execute("insert into boots values (?)", (boot_id,))

    def bundle_stamps(self) -> dict[str, str]:
        """Return the last indexed state of each bundle's directory, by bundle id."""
        return dict(self._fetch_all("select id, stamp from bundles"))

    def bundle_stamp(self, bundle_id: str) -> str | None:
        """Return the last indexed state of a bundle's directory; None if the bundle has no row."""
        row = self._fetch_one("select stamp from bundles where id = ?", bundle_id)
        return row[0] if row else None

    def tool_stamps(self, bundle_id: str) -> dict[str, str]:
        """Return the last indexed state of each tool's file, by tool id."""
        return dict(self._fetch_all("select id, stamp from tools where bundle_id = ?", bundle_id))

    def tool_id(self, key: ToolKey) -> str | None:
        """Return the id of the tool with this key, or None."""
        row = self._fetch_one("select id from tools where bundle_id = ? and slug = ? and version = ?", *key)
        return row[0] if row else None

    def keys_by_id(self, tool_ids: Iterable[str]) -> dict[str, ToolKey]:
        """Return the keys of those tools that exist."""
        rows = self._fetch_all(
            "select id, bundle_id, slug, version from tools where id in (select value from json_each(?))",
            orjson.dumps(list(tool_ids)).decode(),
        )
        return {tool_id: (bundle_id, slug, version) for tool_id, bundle_id, slug, version in rows}

    def ids_by_key(self, bundle_id: str, slugs: Iterable[str]) -> dict[ToolKey, str]:
        """Return the ids of all tools of a bundle with these slugs."""
        rows = self._fetch_all(
            "select bundle_id, slug, version, id from tools"
            " where bundle_id = ? and slug in (select value from json_each(?))",
            bundle_id,
            orjson.dumps(list(slugs)).decode(),
        )
        return {(bundle_id, slug, version): tool_id for bundle_id, slug, version, tool_id in rows}

    def commit(self) -> None:
        """Commit the transaction before its end."""
        self._connection.commit()

    def count(self) -> int:
        """Return the number of tool versions."""
        number: int = self._fetch_all("select count(*) from tools")[0][0]
        return number

    def find_tool(self, tool_id: str) -> StoredTool | None:
        """Return a tool by id, or None. Includes tools of deleted bundles."""
        row = self._fetch_one(f"{SELECT_TOOLS} where tools.id = ?", tool_id)
        return _stored_tool(row) if row else None

    def versions(self, pack: str, func: str) -> list[StoredTool]:
        """Return all versions of a tool in bundles that are not deleted, newest first."""
        rows = self._fetch_all(
            f"{SELECT_LISTED} and pack = ? and func = ? order by tools.created_at desc, tools.id desc",
            pack,
            func,
        )
        return [_stored_tool(row) for row in rows]

    def bundles(self, filter: BundleFilter, cursor: str | None, limit: int) -> Page[Bundle]:
        """Return a page of bundles, ordered by id."""
        condition = matches_bundle(filter) & Condition("id > ?", (cursor or "",))
        query = f"select body from bundles where {condition.sql} order by id limit ?"
        rows = self._fetch_all(query, *condition.values, limit + 1)
        bundles = [Bundle.from_json(orjson.loads(body)) for (body,) in rows[:limit]]
        return Page(bundles, bundles[-1].id if len(rows) > limit else None)

    def tools(self, filter: BundleFilter, cursor: str | None, limit: int) -> Page[StoredTool]:
        """Return a page of tools, ordered by id."""
        condition = matches_tool(filter)
        if filter.name_contains:  # an index has the names of all tools, beside each other
            named = f"select number from {TOOLS_AND_BUNDLES} where {condition.sql}"
            condition = Condition(f"number in ({named})", condition.values)
        condition &= Condition("tools.id > ?", (cursor or "",))
        query = f"{SELECT_TOOLS} where {condition.sql} order by tools.id limit ?"
        rows = self._fetch_all(query, *condition.values, limit + 1)
        tools = [_stored_tool(row) for row in rows[:limit]]
        return Page(tools, tools[-1].tool.id if len(rows) > limit else None)

    def packs(self) -> list[str]:
        """Return the pack names of all bundles that contain a tool."""
        query = "select pack from bundles where not deleted and id in (select distinct bundle_id from tools)"
        return [pack for (pack,) in self._fetch_all(query)]

    def pack(self, name: str) -> list[StoredTool]:
        """Return the active versions of a bundle by its pack name."""
        query = f"{SELECT_LISTED} and active and pack = ? order by tools.id"
        return [_stored_tool(row) for row in self._fetch_all(query, name)]

    def named(self, names: Iterable[str]) -> list[StoredTool]:
        """Return the active versions of tools by their names in code."""
        parts = [name.partition(".") for name in names]
        pairs = orjson.dumps([[pack, func] for pack, _, func in parts]).decode()
        query = f"""{SELECT_LISTED} and active and (pack, func) in
            (select value ->> 0, value ->> 1 from json_each(?))"""
        return [_stored_tool(row) for row in self._fetch_all(query, pairs)]

    def pack_sizes(self) -> dict[str, int]:
        """Return the number of enabled tools in each pack that has any."""
        query = f"select pack, count(*) from {TOOLS_AND_BUNDLES} where {ENABLED} group by pack order by pack"
        return dict(self._fetch_all(query))

    def search(
        self,
        query: SearchQuery,
        filter: BundleFilter,
        similar: Callable[[], Sequence[str]],
        after: SearchPosition | None,
        limit: int,
    ) -> list[SearchHit]:
        """Return the best matches, or those after a position. A tier is read only if it is reached.

        similar: returns the slugs that resemble the query.
        """
        hits: list[SearchHit] = []
        for tier in (Tier.PREFIX, Tier.WORD, Tier.SIMILAR):
            if len(hits) == limit or (after is not None and tier < after.tier):
                continue
            slugs = similar() if tier is Tier.SIMILAR else ()
            condition = matches_tool(filter) & is_in_tier(tier, query, slugs, self._has_full_text)
            if after is not None and tier == after.tier:
                condition &= is_after(after)
            tools = self._newest(condition, limit - len(hits))
            hits += [SearchHit(tier, tool) for tool in tools]
        return hits

    def slugs(self, filter: BundleFilter) -> list[str]:
        """Return the distinct slugs of the tools that a filter selects."""
        condition = matches_tool(filter)
        query = f"select distinct slug from {TOOLS_AND_BUNDLES} where {condition.sql}"
        return [slug for (slug,) in self._fetch_all(query, *condition.values)]

    def _newest(self, condition: Condition, limit: int) -> list[StoredTool]:
        """Return the newest tools that match. Only these are read whole; the others are only sorted."""
        order = "order by tools.modified_at desc, tools.id desc"
        numbers = f"select number from {TOOLS_AND_BUNDLES} where {condition.sql} {order} limit ?"
        rows = self._fetch_all(
            f"{SELECT_TOOLS} where number in ({numbers}) {order}", *condition.values, limit
        )
        return [_stored_tool(row) for row in rows]

    def _mark_active(self, bundle_id: str, slug: str) -> None:
        """Mark the version that the unversioned name refers to."""
        self._connection.execute(
            "update tools set active = (id = (select id from tools where bundle_id = ?1 and slug = ?2"
            " order by enabled desc, created_at desc, id desc limit 1)) where bundle_id = ?1 and slug = ?2",
            (bundle_id, slug),
        )

    def _rename_terms(self, bundle: Bundle) -> None:
        """Write the terms of the tools of a bundle that has a new name."""
        rows = self._fetch_all("select number, term_list, body from tools where bundle_id = ?", bundle.id)
        for number, term_list, body in rows:
            self.terms.remove(number, term_list)
            tool = ToolVersion.from_json(orjson.loads(body))
            terms = add_pack(bundle.slug, search_entry(tool).terms())
            self._connection.execute(
                "update tools set term_list = ? where number = ?", (join_terms(terms), number)
            )
            self.terms.add([(number, terms)])

    def _name_packs(self, base: str) -> None:
        rows = self._fetch_all("select body from bundles where base = ? and not deleted", base)
        names = pack_names(Bundle.from_json(orjson.loads(body)) for (body,) in rows)
        for bundle_id, pack in names.items():
            taken = self._fetch_one(
                "select 1 from bundles where pack = ? and base <> ? and not deleted", pack, base
            )
            unique = f"{base}__{bundle_id.replace('-', '')}" if taken else pack
            self._connection.execute("update bundles set pack = ? where id = ?", (unique, bundle_id))

    def _fetch_one(self, query: str, *values: object) -> Any:
        return self._connection.execute(query, values).fetchone()

    def _fetch_all(self, query: str, *values: object) -> list[Any]:
        return self._connection.execute(query, values).fetchall()


def _stored_tool(row: Any) -> StoredTool:
    tool, bundle, pack, func = row
    return StoredTool(
        ToolVersion.from_json(orjson.loads(tool)), Bundle.from_json(orjson.loads(bundle)), f"{pack}.{func}"
    )
