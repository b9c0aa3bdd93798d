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
from onetool.domain.bundles.names import function_name, pack_names
from onetool.domain.bundles.ranking import (
    SearchHit,
    SearchPosition,
    SearchQuery,
    Tier,
    normalize_name,
    searchable_words,
)
from onetool.domain.page import Page

from .conditions import Condition, is_after, is_in_tier, matches_bundle, matches_tool

TOOLS_AND_BUNDLES = "tools join bundles on bundles.id = bundle_id"
SELECT_TOOLS = f"select tools.body, bundles.body, bundles.pack, tools.func from {TOOLS_AND_BUNDLES}"
SELECT_LISTED = f"{SELECT_TOOLS} where not deleted"


class IndexQueries:
    """The queries and updates of one transaction."""

    def __init__(self, connection: sqlite3.Connection, has_full_text: bool) -> None:
        self._connection, self._has_full_text = connection, has_full_text

    def put_bundle(self, bundle: Bundle) -> None:
        """Write the row of a bundle, and update the pack names of all bundles with the same slug."""
        old = self._fetch_one("select base from bundles where id = ?", bundle.id)
        base = python_name(bundle.slug)
        self._connection.execute(
            "insert or replace into bundles values (?, ?, ?, ?, ?, ?, ?)",
            (bundle.id, base, base, bundle.is_enabled, bool(bundle.soft_deleted_at), "", _to_body(bundle)),
        )
        for name in {base, *([old[0]] if old else [])}:
            self._name_packs(name)

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

    def check_id_available(self, tool: ToolVersion) -> None:
        """Check that no other tool has the id of this one.

        Raises:
            AlreadyExists: Another tool has this id.
        """
        row = self._fetch_one("select bundle_id, slug, version from tools where id = ?", tool.id)
        if row is not None and tuple(row) != tool.key:
            raise AlreadyExists(f"The id {tool.id} belongs to another tool: {row[1]!r} version {row[2]!r}.")

    def put_tool(self, tool: ToolVersion, stamp: str) -> None:
        """Write the row of a tool."""
        self.drop_tool(tool.id)
        base = python_name(tool.slug)
        other = self._fetch_one(
            "select slug from tools where bundle_id = ? and func = ? and slug <> ? order by created_at, id",
            tool.bundle_id,
            base,
            tool.slug,
        )
        words = " ".join(sorted(searchable_words(tool)))
        row = {
            "id": tool.id,
            "bundle_id": tool.bundle_id,
            "slug": tool.slug,
            "version": tool.version,
            "func": function_name(tool.slug, other[0] if other else None),
            "enabled": tool.is_enabled,
            "active": False,
            "created_at": tool.created_at,
            "modified_at": tool.modified_at,
            "slug_key": normalize_name(tool.slug),
            "name_key": normalize_name(tool.display_name),
            "word_list": f" {words} ",
            "stamp": stamp,
            "body": _to_body(tool),
        }
        number = self._connection.execute(
            f"insert into tools ({', '.join(row)}) values ({_marks(row)})", tuple(row.values())
        ).lastrowid
        tags = [(tag, tool.id) for tag in set(tool.tags)]
        self._connection.executemany("insert or ignore into tags values (?, ?)", tags)
        self._mark_active(tool.bundle_id, tool.slug)
        if self._has_full_text:
            self._connection.execute("insert into words (rowid, text) values (?, ?)", (number, words))

    def drop_tool(self, tool_id: str) -> None:
        """Delete the rows of a tool."""
        row = self._fetch_one("select number, bundle_id, slug from tools where id = ?", tool_id)
        if row is None:
            return
        self._connection.execute("delete from tools where id = ?", (tool_id,))
        self._connection.execute("delete from tags where tool_id = ?", (tool_id,))
        if self._has_full_text:
            self._connection.execute("delete from words where rowid = ?", row[:1])
        self._mark_active(*row[1:])

    def bundle_stamps(self) -> dict[str, str]:
        """Return the last indexed state of each bundle's directory, by bundle id."""
        return dict(self._fetch_all("select id, stamp from bundles"))

    def bundle_stamp(self, bundle_id: str) -> str | None:
        """Return the last indexed state of a bundle's directory; None if the bundle has no row."""
        row = self._fetch_one("select stamp from bundles where id = ?", bundle_id)
        return row[0] if row else None

    def tool_stamps(self, bundle_id: str) -> dict[str, tuple[str, ToolKey]]:
        """Return the last indexed state of each tool's file and the key of the tool, by tool id."""
        rows = self._fetch_all(
            "select id, stamp, bundle_id, slug, version from tools where bundle_id = ?", bundle_id
        )
        return {tool_id: (stamp, (bundle, slug, version)) for tool_id, stamp, bundle, slug, version in rows}

    def commit(self) -> None:
        """Commit, and start the next transaction. Other writers may run in between."""
        self._connection.commit()
        self._connection.execute("begin immediate")

    def count(self) -> int:
        """Return the number of tool versions."""
        number: int = self._fetch_all("select count(*) from tools")[0][0]
        return number

    def find_tool(self, tool_id: str) -> StoredTool | None:
        """Return a tool by id, or None. Includes tools of deleted bundles."""
        row = self._fetch_one(f"{SELECT_TOOLS} where tools.id = ?", tool_id)
        return _stored_tool(row) if row else None

    def get_tool(self, tool_id: str) -> StoredTool:
        """Return a tool that was just written.

        Raises:
            LookupError: Its bundle has no row, because the bundle's record has become unreadable.
        """
        tool = self.find_tool(tool_id)
        if tool is None:
            raise LookupError(f"Cannot read the bundle of tool {tool_id}.")
        return tool

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
        condition = matches_tool(filter) & Condition("tools.id > ?", (cursor or "",))
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


def _marks(values: Iterable[object]) -> str:
    return ",".join("?" for _ in values)


def _to_body(record: Bundle | ToolVersion) -> bytes:
    return orjson.dumps(record.to_json())


def _stored_tool(row: Any) -> StoredTool:
    tool, bundle, pack, func = row
    return StoredTool(
        ToolVersion.from_json(orjson.loads(tool)), Bundle.from_json(orjson.loads(bundle)), f"{pack}.{func}"
    )
