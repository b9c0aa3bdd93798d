"""What one transaction reads and writes in the index of bundles."""

import sqlite3
from collections.abc import Iterable, Sequence
from typing import Any

import orjson

from onetool.domain.bundle import Bundle, Filter, Listed, Pair, Taken, ToolVersion
from onetool.domain.bundle_ids import python_name
from onetool.domain.bundle_names import function_name, pack_names
from onetool.domain.paging import Page

LISTED = (
    "select tools.body, bundles.body, bundles.pack, tools.func"
    " from tools join bundles on bundles.id = bundle_id where not deleted"
)
ONE = LISTED.removesuffix(" where not deleted")


class Rows:
    """One transaction on the index."""

    def __init__(self, connection: sqlite3.Connection, has_words: bool) -> None:
        self._connection, self._has_words = connection, has_words

    def put_bundle(self, bundle: Bundle) -> None:
        """Write the row of a bundle, and the names of all that share its slug."""
        old = self._one("select base from bundles where id = ?", bundle.id)
        base = python_name(bundle.slug)
        self._connection.execute(
            "insert or replace into bundles values (?, ?, ?, ?, ?, ?, ?)",
            (bundle.id, base, base, bundle.is_enabled, bool(bundle.soft_deleted_at), "", _written(bundle)),
        )
        for name in {base, *([old[0]] if old else [])}:
            self._name_packs(name)

    def drop_bundle(self, bundle_id: str) -> None:
        """Forget a bundle and its tools."""
        found = self._one("select base from bundles where id = ?", bundle_id)
        for (tool_id,) in self._all("select id from tools where bundle_id = ?", bundle_id):
            self.drop_tool(tool_id)
        self._connection.execute("delete from bundles where id = ?", (bundle_id,))
        if found:
            self._name_packs(found[0])

    def stamp_bundle(self, bundle_id: str, stamp: str) -> None:
        """Note the state of a bundle's directory that these rows have seen."""
        self._connection.execute("update bundles set stamp = ? where id = ?", (stamp, bundle_id))

    def check_free(self, tool: ToolVersion) -> None:
        """Refuse a tool whose id is that of another tool: rows are found by ids.

        Raises Taken.
        """
        found = self._one("select bundle_id, slug, version from tools where id = ?", tool.id)
        if found is not None and tuple(found) != tool.pair:
            raise Taken(f"The id {tool.id} is that of another tool, {found[1]!r} version {found[2]!r}.")

    def put_tool(self, tool: ToolVersion, stamp: str) -> None:
        """Write the row of a tool."""
        self.drop_tool(tool.id)
        base = python_name(tool.slug)
        other = self._one(
            "select slug from tools where bundle_id = ? and func = ? and slug <> ? order by created_at, id",
            tool.bundle_id,
            base,
            tool.slug,
        )
        number = self._connection.execute(
            "insert into tools (id, bundle_id, slug, version, func, enabled, active, created_at, stamp, body)"
            " values (?, ?, ?, ?, ?, ?, 0, ?, ?, ?)",
            (
                tool.id,
                tool.bundle_id,
                tool.slug,
                tool.version,
                function_name(tool.slug, other[0] if other else None),
                tool.is_enabled,
                tool.created_at,
                stamp,
                _written(tool),
            ),
        ).lastrowid
        tags = [(tag, tool.id) for tag in set(tool.tags)]
        self._connection.executemany("insert or ignore into tags values (?, ?)", tags)
        self._name_active(tool.bundle_id, tool.slug)
        if self._has_words:
            text = " ".join((tool.slug, tool.display_name, tool.description, *tool.tags))
            self._connection.execute("insert into words (rowid, text) values (?, ?)", (number, text))

    def drop_tool(self, tool_id: str) -> None:
        """Forget a tool."""
        found = self._one("select number, bundle_id, slug from tools where id = ?", tool_id)
        if found is None:
            return
        self._connection.execute("delete from tools where id = ?", (tool_id,))
        self._connection.execute("delete from tags where tool_id = ?", (tool_id,))
        if self._has_words:
            self._connection.execute("delete from words where rowid = ?", found[:1])
        self._name_active(*found[1:])

    def stamps(self) -> dict[str, str]:
        """The state of each bundle's directory that was last seen."""
        return dict(self._all("select id, stamp from bundles"))

    def seen_tools(self, bundle_id: str) -> dict[str, tuple[str, Pair]]:
        """The state of each tool's file that was last seen, and its pair."""
        rows = self._all(
            "select id, stamp, bundle_id, slug, version from tools where bundle_id = ?", bundle_id
        )
        return {tool_id: (stamp, (bundle, slug, version)) for tool_id, stamp, bundle, slug, version in rows}

    def pause(self) -> None:
        """Keep what was written so far, and let others have a turn."""
        self._connection.commit()
        self._connection.execute("begin immediate")

    def count(self) -> int:
        """How many versions there are."""
        number: int = self._all("select count(*) from tools")[0][0]
        return number

    def listed(self, tool_id: str) -> Listed | None:
        """One tool."""
        found = self._one(f"{ONE} where tools.id = ?", tool_id)
        return _listed(found) if found else None

    def must_list(self, tool_id: str) -> Listed:
        """One tool that was just written.

        Raises LookupError when its bundle has no row: its record was damaged meanwhile.
        """
        found = self.listed(tool_id)
        if found is None:
            raise LookupError(f"The bundle of tool {tool_id} cannot be read.")
        return found

    def named(self, pack: str, func: str) -> list[Listed]:
        """All versions of a tool in bundles that are not deleted, the newest first."""
        rows = self._all(
            f"{LISTED} and pack = ? and func = ? order by tools.created_at desc, tools.id desc",
            pack,
            func,
        )
        return [_listed(row) for row in rows]

    def bundles(self, wanted: Filter, cursor: str | None, limit: int) -> Page[Bundle]:
        """A page of bundles in the order of their ids."""
        where, values = _where(wanted, "bundles.id")
        query = f"select body from bundles where not deleted and id > ? {where} order by id limit ?"
        rows = self._all(query, cursor or "", *values, limit + 1)
        found = [Bundle.from_json(orjson.loads(body)) for (body,) in rows[:limit]]
        return Page(found, found[-1].id if len(rows) > limit else None)

    def tools(self, wanted: Filter, cursor: str | None, limit: int) -> Page[Listed]:
        """A page of tools in the order of their ids."""
        where, values = _where(wanted, "bundle_id", "and tools.enabled and bundles.enabled")
        where += " and active" if wanted.active_only else ""
        if wanted.tags is not None:
            where += f" and tools.id in (select tool_id from tags where tag in ({_marks(wanted.tags)}))"
            values = [*values, *wanted.tags]
        query = f"{LISTED} and tools.id > ? {where} order by tools.id limit ?"
        rows = self._all(query, cursor or "", *values, limit + 1)
        found = [_listed(row) for row in rows[:limit]]
        return Page(found, found[-1].tool.id if len(rows) > limit else None)

    def packs(self) -> list[str]:
        """The names of all bundles that hold a tool."""
        query = "select pack from bundles where not deleted and id in (select distinct bundle_id from tools)"
        return [pack for (pack,) in self._all(query)]

    def pack(self, name: str) -> list[Listed]:
        """The active versions of one bundle."""
        query = f"{LISTED} and active and pack = ? order by tools.id"
        return [_listed(row) for row in self._all(query, name)]

    def with_words(self, words: Sequence[str], limit: int) -> list[Listed]:
        """Tools that have words which begin like these: all of them, else any."""
        if not self._has_words:
            return self._with_parts(words, limit)
        newest = "select rowid from words where words match ? order by rowid desc limit ?"
        query = f"{LISTED} and number in ({newest})"
        for glue in (" ", " OR "):
            match = glue.join(f'"{word}"*' for word in words)
            if found := self._all(query, match, limit):
                return [_listed(row) for row in found]
        return []

    def beginning(self, slug: str, limit: int) -> list[Listed]:
        """Tools whose slugs begin so, the newest first."""
        query = f"{LISTED} and slug >= ? and slug < ? order by number desc limit ?"
        return [_listed(row) for row in self._all(query, slug, f"{slug}\U0010ffff", limit)]

    def of_slugs(self, slugs: Sequence[str], limit: int) -> list[Listed]:
        """Tools that have one of these slugs."""
        query = f"{LISTED} and slug in ({_marks(slugs)}) limit ?"
        return [_listed(row) for row in self._all(query, *slugs, limit)]

    def slugs(self) -> list[str]:
        """Every slug once."""
        return [slug for (slug,) in self._all("select distinct slug from tools")]

    def _with_parts(self, words: Sequence[str], limit: int) -> list[Listed]:
        """The same where SQLite has no full-text search: every row is looked at."""
        parts = " and ".join("lower(cast(tools.body as text)) like ? escape '\\'" for _ in words)
        values = [
            "%" + word.replace("\\", "\\\\").replace("%", "\\%").replace("_", "\\_") + "%" for word in words
        ]
        query = f"{LISTED} and {parts} limit ?"
        return [_listed(row) for row in self._all(query, *values, limit)]

    def _name_active(self, bundle_id: str, slug: str) -> None:
        """Mark the version that the tool's name stands for."""
        self._connection.execute(
            "update tools set active = (id = (select id from tools where bundle_id = ?1 and slug = ?2"
            " order by enabled desc, created_at desc, id desc limit 1)) where bundle_id = ?1 and slug = ?2",
            (bundle_id, slug),
        )

    def _name_packs(self, base: str) -> None:
        rows = self._all("select body from bundles where base = ? and not deleted", base)
        names = pack_names(Bundle.from_json(orjson.loads(body)) for (body,) in rows)
        for bundle_id, pack in names.items():
            taken = self._one(
                "select 1 from bundles where pack = ? and base <> ? and not deleted", pack, base
            )
            unique = f"{base}__{bundle_id.replace('-', '')}" if taken else pack
            self._connection.execute("update bundles set pack = ? where id = ?", (unique, bundle_id))

    def _one(self, query: str, *values: object) -> Any:
        return self._connection.execute(query, values).fetchone()

    def _all(self, query: str, *values: object) -> list[Any]:
        return self._connection.execute(query, values).fetchall()


def _where(wanted: Filter, column: str, enabled: str = "and enabled") -> tuple[str, list[str]]:
    where, values = "" if wanted.include_disabled else enabled, list[str]()
    if wanted.bundle_ids is not None:
        where += f" and {column} in ({_marks(wanted.bundle_ids)})"
        values += wanted.bundle_ids
    return where, values


def _marks(values: Iterable[object]) -> str:
    return ",".join("?" for _ in values)


def _written(thing: Bundle | ToolVersion) -> bytes:
    return orjson.dumps(thing.to_json())


def _listed(row: Any) -> Listed:
    tool, bundle, pack, func = row
    return Listed(
        ToolVersion.from_json(orjson.loads(tool)), Bundle.from_json(orjson.loads(bundle)), f"{pack}.{func}"
    )
