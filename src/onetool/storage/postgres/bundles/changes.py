"""Changes of stored bundles, in one transaction that no other change of the workspace overlaps."""

from collections.abc import Collection, Mapping, Sequence
from typing import Any
from uuid import UUID

import orjson
from psycopg.rows import TupleRow

from onetool.domain.audit.entry import AuditAction
from onetool.domain.bundles.bundle import (
    AlreadyExists,
    Bundle,
    BundleConflict,
    StoredTool,
    ToolKey,
    ToolVersion,
)
from onetool.domain.bundles.identifiers import python_name
from onetool.domain.bundles.names import pack_names
from onetool.storage.postgres.audit import record
from onetool.storage.postgres.database import Cursor
from onetool.storage.postgres.limits import read_limits

from .rows import ToolTerms, lexemes, to_body, tool_values

COLUMNS = (
    "id, bundle_id, slug, version, listed, bundle_enabled, enabled, created_at, modified_at, slug_key,"
    " name_key, tags, body, term_list"
)
INSERT_TOOLS = f"""
with new as (
    select *, first_value(slug) over (partition by func order by number) as first_slug,
        row_number() over (partition by slug order by number) = 1 as is_first
    from json_to_recordset(%(tools)s::json) as tool(number int, id text, bundle_id text, slug text,
        version text, listed boolean, bundle_enabled boolean, enabled boolean, created_at text,
        modified_at text, slug_key text, name_key text, tags text[], body text, term_list text, words text[],
        terms text[], func text, func_key text, long_func text, long_func_key text)
), named as (
    select *, slug = coalesce((
        select slug from tools
        where workspace_id = %(ws)s and bundle_id = %(bundle)s and func = new.func limit 1
    ), first_slug) as has_func
    from new
)
insert into tools (workspace_id, {COLUMNS}, words, terms, pack, pack_key, func, func_key, active)
select %(ws)s, {COLUMNS}, array_to_tsvector(words), array_to_tsvector(terms), %(pack)s, %(pack_key)s,
    case when has_func then func else long_func end,
    case when has_func then func_key else long_func_key end,
    is_first and not exists (select from tools
        where workspace_id = %(ws)s and bundle_id = %(bundle)s and slug = named.slug)
from named returning id, func, active
"""
"""The first slug with a Python name has it as its function name. A tool without other versions is active."""
UPDATE_TERMS = """
update tools set term_list = new.term_list, terms = array_to_tsvector(new.terms)
from json_to_recordset(%(tools)s::json) as new(id text, term_list text, terms text[])
where workspace_id = %(ws)s and tools.id = new.id
"""
MAX_ROWS = 100
"""Rows that a statement writes: fewer round trips keep the workspace locked for a shorter time."""
PUT_BUNDLE = """
insert into bundles (workspace_id, id, base, pack, enabled, deleted, body) values (%s, %s, %s, %s, %s, %s, %s)
on conflict (workspace_id, id) do update set base = excluded.base, enabled = excluded.enabled,
    deleted = excluded.deleted, body = excluded.body
"""
MARK_ACTIVE = """
update tools set active = (id = (
    select id from tools where workspace_id = %(ws)s and bundle_id = %(bundle)s and slug = %(slug)s
    order by enabled desc, created_at desc, id desc limit 1))
where workspace_id = %(ws)s and bundle_id = %(bundle)s and slug = %(slug)s
"""
ADD_TERMS = """
insert into vocabulary (workspace_id, term, tools, is_word)
select %s, * from unnest(%s::text[], %s::int[], %s::boolean[])
on conflict (workspace_id, term) do update
    set tools = vocabulary.tools + excluded.tools, is_word = vocabulary.is_word or excluded.is_word
"""
ADD_WORDS = """
insert into words (workspace_id, word) select %s, * from unnest(%s::text[]) on conflict do nothing
"""
ADD_TOTALS = """
insert into term_totals (workspace_id, tools, lengths) values (%s, %s, %s)
on conflict (workspace_id) do update set tools = term_totals.tools + excluded.tools, lengths = (
    select array_agg(old + new order by n)
    from unnest(term_totals.lengths, excluded.lengths) with ordinality as field (old, new, n))
"""


class BundleChanges:
    """Writes the rows of one workspace."""

    def __init__(self, cursor: Cursor, workspace: UUID) -> None:
        self._cursor, self._workspace = cursor, workspace

    def bundle(self, bundle_id: str) -> Bundle | None:
        """Return a bundle, also a deleted one."""
        row = self._fetch_one("select body from bundles where workspace_id = %s and id = %s", bundle_id)
        return Bundle.from_json(orjson.loads(row[0])) if row else None

    def tool(self, key: ToolKey) -> ToolVersion | None:
        """Return a tool version."""
        condition = "workspace_id = %s and bundle_id = %s and slug = %s and version = %s"
        row = self._fetch_one(f"select body from tools where {condition}", *key)
        return ToolVersion.from_json(orjson.loads(row[0])) if row else None

    def put_bundle(self, bundle: Bundle) -> None:
        """Write a bundle, and what its tools and the bundles with the same name copy from it."""
        old, base = self.bundle(bundle.id), python_name(bundle.slug)
        is_listed = not bundle.soft_deleted_at
        values = (bundle.id, base, base, bundle.is_enabled, not is_listed, to_body(bundle))
        self._execute(PUT_BUNDLE, *values)
        self._cursor.execute(
            "update tools set listed = %s, bundle_enabled = %s where workspace_id = %s and bundle_id = %s"
            " and (listed, bundle_enabled) <> (%s, %s)",
            (is_listed, bundle.is_enabled, self._workspace, bundle.id, is_listed, bundle.is_enabled),
        )
        for name in {base, *([python_name(old.slug)] if old else [])}:
            self._name_packs(name)
        if old and old.slug != bundle.slug:
            self._rename_terms(bundle)

    def check_unique(self, tools: Sequence[ToolVersion], *, is_new: bool) -> None:
        """Check that no other tool has the id or the key of one of these.

        Raises:
            AlreadyExists: Another tool has it; if these are new, any tool with the key.
        """
        self._cursor.execute(
            "select id, bundle_id, slug, version from tools where workspace_id = %(ws)s and id = any(%(ids)s)"
            " union select tools.id, bundle_id, tools.slug, tools.version"
            " from unnest(%(bundles)s::text[], %(slugs)s::text[], %(versions)s::text[])"
            " as wanted (bundle, slug, version) join tools on workspace_id = %(ws)s"
            " and bundle_id = wanted.bundle and tools.slug = wanted.slug and tools.version = wanted.version",
            {
                "ws": self._workspace,
                "ids": [tool.id for tool in tools],
                "bundles": [tool.bundle_id for tool in tools],
                "slugs": [tool.slug for tool in tools],
                "versions": [tool.version for tool in tools],
            },
        )
        keys = {tool.id: tool.key for tool in tools}
        for tool_id, *rest in self._cursor.fetchall():
            key = tuple(rest)
            if keys.get(tool_id, key) != key:
                raise AlreadyExists(
                    f"The id {tool_id} belongs to another tool: {key[1]!r} version {key[2]!r}."
                )
            if is_new or tool_id not in keys:
                raise AlreadyExists(f"{key[1]!r} version {key[2]!r} already exists in this bundle.")

    def check_quota(self, added: int) -> None:
        """Check that the workspace may store this many more tools.

        Raises:
            BundleConflict: It may not.
        """
        limit = read_limits(self._cursor, self._workspace).stored_tools
        row = self._fetch_one("select tools from term_totals where workspace_id = %s")
        count = row[0] if row else 0
        if limit is not None and count + added > limit:
            raise BundleConflict(
                f"Nothing was stored: the workspace has {count} tools, and with {added} more it would exceed"
                f" its limit of {limit} (stored_tools). Delete others first."
            )

    def put_tools(self, tools: Sequence[ToolVersion], bundle: Bundle) -> list[StoredTool]:
        """Insert tools of one bundle, whose ids and keys no row has."""
        if not tools:
            return []
        pack = self._pack(bundle.id)
        terms = [ToolTerms.of(tool, bundle) for tool in tools]
        common = {"bundle": bundle.id, "pack": pack, "pack_key": pack.casefold()}
        values = [tool_values(tool, bundle, own) for tool, own in zip(tools, terms, strict=True)]
        inserted = self._write_tools(INSERT_TOOLS, values, common)
        names = {tool_id: func for tool_id, func, _ in inserted}
        active = {tool_id for tool_id, _, is_active in inserted if is_active}
        self._count_terms(terms, 1)
        self._execute(ADD_WORDS, sorted(set[str]().union(*(own["words"] for own in values))))
        for slug in {tool.slug for tool in tools if tool.id not in active}:
            self._mark_active(bundle.id, slug)
        return [StoredTool(tool, bundle, f"{pack}.{names[tool.id]}") for tool in tools]

    def _write_tools(
        self, sql: str, tools: Sequence[dict[str, Any]], common: Mapping[str, str]
    ) -> list[TupleRow]:
        """Run a statement with the values of some tools at a time. Return the rows that it returns."""
        rows = list[TupleRow]()
        for start in range(0, len(tools), MAX_ROWS):
            part = [tool | {"number": number} for number, tool in enumerate(tools[start : start + MAX_ROWS])]
            values = {"ws": self._workspace, "tools": orjson.dumps(part).decode(), **common}
            self._cursor.execute(sql.encode(), values)
            rows += self._cursor.fetchall() if self._cursor.description else []
        return rows

    def drop_tools(self, tool_ids: Collection[str]) -> int:
        """Delete tools. Return how many there were."""
        self._cursor.execute(
            "delete from tools where workspace_id = %s and id = any(%s) returning bundle_id, slug, term_list",
            (self._workspace, list(tool_ids)),
        )
        rows = self._cursor.fetchall()
        self._count_terms([ToolTerms.from_text(row[2]) for row in rows], -1)
        for bundle_id, slug in {(row[0], row[1]) for row in rows}:
            self._mark_active(bundle_id, slug)
        return len(rows)

    def reap(self, before: str) -> list[str]:
        """Delete the empty bundles that were marked as deleted before a time. Return their ids."""
        old = self.reapable(before)
        self._cursor.execute(
            "delete from bundles where workspace_id = %s and id = any(%s)", (self._workspace, old)
        )
        return old

    def reapable(self, before: str) -> list[str]:
        """Return the ids of the empty bundles that were marked as deleted before a time."""
        self._cursor.execute(
            "select body from bundles where workspace_id = %(ws)s and deleted and not exists"
            " (select from tools where workspace_id = %(ws)s and bundle_id = bundles.id)",
            {"ws": self._workspace},
        )
        bundles = [Bundle.from_json(orjson.loads(body)) for (body,) in self._cursor.fetchall()]
        return [bundle.id for bundle in bundles if (bundle.soft_deleted_at or before) < before]

    def record(self, action: AuditAction, target: str, detail: Mapping[str, Any]) -> None:
        """Add an entry to the audit log."""
        record(self._cursor, self._workspace, action, target, detail)

    def _pack(self, bundle_id: str) -> str:
        row = self._fetch_one("select pack from bundles where workspace_id = %s and id = %s", bundle_id)
        return str(row[0])

    def _name_packs(self, base: str) -> None:
        """Give the bundles with one Python name different names in code; the oldest one has the name."""
        self._cursor.execute(
            "select pack, body from bundles where workspace_id = %s and base = %s and not deleted",
            (self._workspace, base),
        )
        bundles = {Bundle.from_json(orjson.loads(body)): pack for pack, body in self._cursor.fetchall()}
        old = {bundle.id: pack for bundle, pack in bundles.items()}
        for bundle_id, pack in pack_names(bundles).items():
            taken = self._fetch_one(
                "select from bundles where workspace_id = %s and pack = %s and base <> %s and not deleted",
                pack,
                base,
            )
            unique = f"{base}__{bundle_id.replace('-', '')}" if taken is not None else pack
            self._rename_pack(bundle_id, old[bundle_id], unique)

    def _rename_pack(self, bundle_id: str, old: str, new: str) -> None:
        if old != new:
            self._cursor.execute(
                "update bundles set pack = %s where workspace_id = %s and id = %s",
                (new, self._workspace, bundle_id),
            )
        self._cursor.execute(
            "update tools set pack = %(new)s, pack_key = %(key)s"
            " where workspace_id = %(ws)s and bundle_id = %(bundle)s and pack <> %(new)s",
            {"new": new, "key": new.casefold(), "ws": self._workspace, "bundle": bundle_id},
        )

    def _rename_terms(self, bundle: Bundle) -> None:
        """Write the terms of the tools of a bundle that has a new name."""
        self._cursor.execute(
            "select id, term_list, body from tools where workspace_id = %s and bundle_id = %s",
            (self._workspace, bundle.id),
        )
        rows = self._cursor.fetchall()
        terms = [ToolTerms.of(ToolVersion.from_json(orjson.loads(row[2])), bundle) for row in rows]
        self._count_terms([ToolTerms.from_text(row[1]) for row in rows], -1)
        values = [
            {"id": row[0], "term_list": own.to_text(), "terms": lexemes(own.all)}
            for row, own in zip(rows, terms, strict=True)
        ]
        self._write_tools(UPDATE_TERMS, values, {})
        self._count_terms(terms, 1)

    def _count_terms(self, tools: Sequence[ToolTerms], sign: int) -> None:
        """Add the terms of tools to the statistics, or with -1, subtract them."""
        if not tools:
            return
        counts: dict[str, int] = {}
        words: set[str] = set()
        for tool in tools:
            words.update(lexemes(tool.words))
            for term in lexemes(tool.all):
                counts[term] = counts.get(term, 0) + sign
        terms = sorted(counts)
        is_word = [term in words and not term.isdigit() for term in terms]
        self._execute(ADD_TERMS, terms, [counts[term] for term in terms], is_word)
        if sign < 0:
            unused = "workspace_id = %s and term = any(%s) and tools <= 0"
            self._execute(f"delete from vocabulary where {unused}", terms)
        lengths = [sign * sum(column) for column in zip(*(tool.lengths for tool in tools), strict=True)]
        self._execute(ADD_TOTALS, sign * len(tools), lengths)

    def _mark_active(self, bundle_id: str, slug: str) -> None:
        self._cursor.execute(MARK_ACTIVE, {"ws": self._workspace, "bundle": bundle_id, "slug": slug})

    def _execute(self, sql: str, *values: object) -> None:
        """Run a statement whose first value is the workspace."""
        self._cursor.execute(sql.encode(), (self._workspace, *values))

    def _fetch_one(self, sql: str, *values: object) -> Any:
        self._execute(sql, *values)
        return self._cursor.fetchone()
