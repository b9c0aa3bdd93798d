"""Stored bundles in PostgreSQL."""

from collections.abc import Callable, Collection, Hashable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import fields

from onetool.domain.audit.entry import AuditAction
from onetool.domain.bundles.bundle import (
    AlreadyExists,
    Bundle,
    BundleFilter,
    StoredTool,
    ToolKey,
    ToolVersion,
)
from onetool.domain.bundles.ranking import SearchHit, SearchPosition, SearchQuery
from onetool.domain.page import Page
from onetool.domain.search.terms import IndexedTool, TermStatistics
from onetool.storage.postgres.database import on_thread
from onetool.storage.postgres.texts import is_storable, to_storable
from onetool.storage.postgres.workspace_database import WorkspaceDatabase
from onetool.threads import Threads

from .changes import BundleChanges
from .queries import BundleQueries, Similar

MAX_COMPARED_SLUGS = 10_000
"""Tools of a workspace up to which queries are compared with all slugs."""


class PostgresBundles:
    """The bundles of one workspace."""

    problems: Sequence[str] = ()

    def __init__(self, workspace: WorkspaceDatabase, threads: Threads) -> None:
        self._workspace, self._threads = workspace, threads
        self._slugs: tuple[Hashable, Sequence[str]] = (None, ())
        """The slugs of a filter, and the filter and revision at which they were read."""

    def generation(self) -> Hashable:
        """Return the revision of the workspace that is known here."""
        return self._workspace.generation

    @on_thread
    def change_bundle(self, bundle_id: str, change: Callable[[Bundle | None], Bundle]) -> Bundle:
        """Create or replace a bundle with what `change` returns."""
        with self._changes() as changes:
            old = changes.bundle(bundle_id)
            bundle = change(old)
            changes.put_bundle(bundle)
            detail = {"slug": bundle.slug} | ({"fields": _changed_fields(old, bundle)} if old else {})
            changes.record(_bundle_action(old, bundle), bundle.id, detail)
        return bundle

    @on_thread
    def bundle(self, bundle_id: str) -> Bundle | None:
        """Return a bundle. Includes deleted ones."""
        with self._query() as queries:
            return queries.bundle(to_storable(bundle_id))

    @on_thread
    def bundles(self, filter: BundleFilter, cursor: str | None, limit: int) -> Page[Bundle]:
        """Return a page of bundles, starting at an opaque cursor."""
        with self._query() as queries:
            return queries.bundles(filter, cursor, limit)

    @on_thread
    def add_tool(self, tool: ToolVersion, check: Callable[[Bundle | None], None]) -> StoredTool:
        """Store a new version, unless `check` raises for its bundle."""
        with self._changes() as changes:
            bundle = changes.bundle(tool.bundle_id)
            check(bundle)
            changes.check_unique([tool], is_new=True)
            changes.check_quota(1)
            (stored,) = changes.put_tools([tool], _existing(bundle))
            changes.record(AuditAction.TOOL_ADD, "/".join(tool.key), {"name": stored.name})
        return stored

    @on_thread
    def import_bundle(self, bundle: Bundle, tools: Sequence[ToolVersion]) -> None:
        """Store a bundle with all its tools, or nothing."""
        with self._changes() as changes:
            old = changes.bundle(bundle.id)
            if old is not None and not old.soft_deleted_at:
                raise AlreadyExists
            changes.check_unique(tools, is_new=False)
            changes.put_bundle(bundle)
            changes.drop_tools([tool.id for tool in tools])
            changes.check_quota(len(tools))
            changes.put_tools(tools, bundle)
            changes.record(AuditAction.BUNDLE_IMPORT, bundle.id, {"slug": bundle.slug, "tools": len(tools)})

    @on_thread
    def change_tool(
        self, key: ToolKey, change: Callable[[Bundle | None, ToolVersion | None], ToolVersion]
    ) -> StoredTool:
        """Replace a version with what `change` returns."""
        with self._changes() as changes:
            bundle = changes.bundle(key[0])
            old = changes.tool(key)
            tool = change(bundle, old)
            changes.check_unique([tool], is_new=False)
            changes.drop_tools([tool.id])
            (stored,) = changes.put_tools([tool], _existing(bundle))
            detail = {"name": stored.name, "fields": _changed_fields(old, tool)}
            changes.record(AuditAction.TOOL_CHANGE, "/".join(key), detail)
        return stored

    @on_thread
    def delete_tool(self, key: ToolKey) -> bool:
        """Delete a version permanently. Return whether it existed."""
        with self._changes() as changes:
            tool = changes.tool(key)
            is_deleted = tool is not None and changes.drop_tools([tool.id]) > 0
            if is_deleted:
                changes.record(AuditAction.TOOL_DELETE, "/".join(key), {})
            return is_deleted

    @on_thread
    def tool(self, key: ToolKey) -> StoredTool | None:
        """Return a version. Includes versions of deleted bundles."""
        bundle, slug, version = map(to_storable, key)
        with self._query() as queries:
            return queries.tool((bundle, slug, version))

    @on_thread
    def find(self, name: str) -> Sequence[StoredTool]:
        """Return all versions of the tool with this qualified name, newest first."""
        if not is_storable(name):
            return ()
        pack, _, func = name.partition(".")
        with self._query() as queries:
            return queries.versions(pack, func)

    @on_thread
    def tools(self, filter: BundleFilter, cursor: str | None, limit: int) -> Page[StoredTool]:
        """Return a page of versions, starting at an opaque cursor."""
        with self._query() as queries:
            return queries.tools(filter, cursor, limit)

    @on_thread
    def packs(self) -> Sequence[str]:
        """Return the pack names of the bundles that contain a tool."""
        with self._query() as queries:
            return queries.packs()

    @on_thread
    def pack(self, name: str) -> Sequence[StoredTool]:
        """Return the active versions of a bundle by its pack name."""
        with self._query() as queries:
            return queries.pack(to_storable(name))

    @on_thread
    def named(self, names: Collection[str]) -> Sequence[StoredTool]:
        """Return the active versions of tools by their names in code."""
        with self._query() as queries:
            return queries.named(map(to_storable, names))

    @on_thread
    def pack_sizes(self) -> Mapping[str, int]:
        """Return the number of enabled tools in each pack."""
        with self._query() as queries:
            return queries.pack_sizes()

    @on_thread
    def term_statistics(self, terms: Collection[str]) -> TermStatistics:
        """Return how common terms are."""
        with self._query() as queries:
            return queries.term_statistics(terms)

    @on_thread
    def similar_terms(self, terms: Sequence[str]) -> Sequence[str]:
        """Return the terms of tools that misspelled ones may stand for."""
        with self._query() as queries:
            return queries.similar_terms(terms)

    @on_thread
    def candidates(
        self, terms: Sequence[str], packs: Collection[str] | None, limit: int
    ) -> Sequence[IndexedTool]:
        """Return the enabled tools that match terms best."""
        with self._query() as queries:
            return queries.candidates(terms, packs, limit)

    @on_thread
    def search(
        self, query: SearchQuery, filter: BundleFilter, after: SearchPosition | None, limit: int
    ) -> Sequence[SearchHit]:
        """Return the best matches, or those after a position."""
        if not query.words:
            return []
        query = query._replace(prefix=to_storable(query.prefix))
        with self._query() as queries:
            return queries.search(query, filter, lambda: self._similar(queries, query, filter), after, limit)

    @on_thread
    def count(self) -> int:
        """Return the number of tool versions."""
        with self._query() as queries:
            return queries.count()

    @on_thread
    def reap(self, before: str) -> Sequence[str]:
        """Delete the empty bundles that were soft-deleted before `before`. Return their ids."""
        with self._workspace.reading() as cursor:  # usually there are none, and nothing is announced
            if not BundleChanges(cursor, self._workspace.workspace).reapable(before):
                return []
        with self._changes() as changes:
            return changes.reap(before)

    async def aclose(self) -> None:
        """Do nothing: the connections belong to the process."""

    def _similar(self, queries: BundleQueries, query: SearchQuery, filter: BundleFilter) -> Similar:
        """Return the slugs that resemble a query, or if there are very many, its terms without typos."""
        if queries.count() > MAX_COMPARED_SLUGS:
            return Similar(terms=queries.corrected(query.text))
        return Similar(slugs=query.similar_slugs(self._slugs_of(queries, filter)))

    def _slugs_of(self, queries: BundleQueries, filter: BundleFilter) -> Sequence[str]:
        """Return the slugs of the tools that a filter selects. They are read once per revision."""
        key = (self.generation(), filter)
        if self._slugs[0] != key:
            self._slugs = key, queries.slugs(filter)
        return self._slugs[1]

    @contextmanager
    def _query(self) -> Iterator[BundleQueries]:
        with self._workspace.reading() as cursor:
            yield BundleQueries(cursor, self._workspace.workspace)

    @contextmanager
    def _changes(self) -> Iterator[BundleChanges]:
        with self._workspace.writing() as cursor:
            yield BundleChanges(cursor, self._workspace.workspace)


def _bundle_action(old: Bundle | None, new: Bundle) -> AuditAction:
    if old is None:
        return AuditAction.BUNDLE_CREATE
    is_deleted = new.soft_deleted_at is not None and old.soft_deleted_at is None
    return AuditAction.BUNDLE_DELETE if is_deleted else AuditAction.BUNDLE_CHANGE


def _changed_fields(old: Bundle | ToolVersion | None, new: Bundle | ToolVersion) -> list[str]:
    """Return the names of the fields that differ, without the time of the change."""
    names = [field.name for field in fields(new) if field.name != "modified_at"]
    return [name for name in names if old is None or getattr(old, name) != getattr(new, name)]


def _existing(bundle: Bundle | None) -> Bundle:
    """Return the bundle of a tool that is written.

    Raises:
        LookupError: There is no such bundle.
    """
    if bundle is None:
        raise LookupError("There is no bundle for the tool.")
    return bundle
