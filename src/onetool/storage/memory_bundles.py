"""Stored bundles for tests and throw-away runs."""

import threading
from collections.abc import Callable, Hashable, Sequence

from onetool.domain.bundle import Bundle, Filter, Listed, Pair, Taken, ToolVersion, active
from onetool.domain.bundle_ids import python_name
from onetool.domain.bundle_names import function_name, pack_names
from onetool.domain.paging import Page
from onetool.domain.search import closest_words, words_of

ALIKE = 50


class MemoryBundles:
    """Keeps everything as long as the process lives."""

    def __init__(self) -> None:
        self.problems: Sequence[str] = ()
        self._bundles: dict[str, Bundle] = {}
        self._tools: dict[Pair, ToolVersion] = {}
        self._moves = 0
        self._lock = threading.RLock()

    def generation(self) -> Hashable:
        """Moves with every change."""
        return self._moves

    def change_bundle(self, bundle_id: str, change: Callable[[Bundle | None], Bundle]) -> Bundle:
        """Create or replace a bundle by what the function makes of it."""
        with self._lock:
            bundle = self._bundles[bundle_id] = change(self._bundles.get(bundle_id))
            self._moves += 1
            return bundle

    def bundle(self, bundle_id: str) -> Bundle | None:
        """Return a bundle, a deleted one too."""
        return self._bundles.get(bundle_id)

    def bundles(self, wanted: Filter, cursor: str | None, limit: int) -> Page[Bundle]:
        """Return bundles from an opaque cursor on."""
        found = [
            bundle
            for id, bundle in sorted(self._bundles.items())
            if id > (cursor or "") and wanted.takes_bundle(bundle)
        ]
        return Page(found[:limit], found[limit - 1].id if len(found) > limit else None)

    def add_tool(self, tool: ToolVersion, check: Callable[[Bundle | None], None]) -> Listed:
        """Keep a new version, if the check of its bundle lets it pass."""
        with self._lock:
            check(self._bundles.get(tool.bundle_id))
            if tool.pair in self._tools:
                raise Taken
            self._check_free(tool)
            return self._keep(tool)

    def import_bundle(self, bundle: Bundle, tools: Sequence[ToolVersion]) -> None:
        """Keep a bundle with all its tools, or nothing."""
        with self._lock:
            old = self._bundles.get(bundle.id)
            if old is not None and not old.soft_deleted_at:
                raise Taken
            for tool in tools:
                self._check_free(tool)
            self._bundles[bundle.id] = bundle
            for tool in tools:
                self._keep(tool)

    def change_tool(
        self, pair: Pair, change: Callable[[Bundle | None, ToolVersion | None], ToolVersion]
    ) -> Listed:
        """Replace a version by what the function makes of it."""
        with self._lock:
            return self._keep(change(self._bundles.get(pair[0]), self._tools.get(pair)))

    def delete_tool(self, pair: Pair) -> bool:
        """Remove a version for good; return whether it was there."""
        with self._lock:
            self._moves += 1
            return self._tools.pop(pair, None) is not None

    def tool(self, pair: Pair) -> Listed | None:
        """Return a version, also from a bundle that is deleted."""
        tool = self._tools.get(pair)
        return self._listed(tool) if tool else None

    def find(self, name: str) -> Sequence[Listed]:
        """Return all versions of the tool that code calls by this name, the newest first."""
        found = [listed for listed in self._all() if listed.name == name]
        return sorted(found, key=lambda listed: (listed.tool.created_at, listed.tool.id), reverse=True)

    def tools(self, wanted: Filter, cursor: str | None, limit: int) -> Page[Listed]:
        """Return versions from an opaque cursor on."""
        after = sorted(
            (listed for listed in self._all() if wanted.takes(listed)), key=lambda listed: listed.tool.id
        )
        found = [
            listed
            for listed in after
            if listed.tool.id > (cursor or "") and (not wanted.active_only or self._is_active(listed.tool))
        ]
        return Page(found[:limit], found[limit - 1].tool.id if len(found) > limit else None)

    def packs(self) -> Sequence[str]:
        """Return the names by which code calls the bundles that hold a tool."""
        return list({listed.name.partition(".")[0] for listed in self._all()})

    def pack(self, name: str) -> Sequence[Listed]:
        """Return the active versions of one bundle."""
        return [
            listed
            for listed in self._all()
            if listed.name.partition(".")[0] == name and self._is_active(listed.tool)
        ]

    def matching(self, query: str, wanted: Filter, limit: int) -> Sequence[Listed]:
        """Return up to `limit` versions that may be meant."""
        words = words_of(query)
        alike = set(closest_words(query, [tool.slug for tool in self._tools.values()], ALIKE))
        found = [
            listed for listed in self._all() if wanted.takes(listed) and _may_be(listed.tool, words, alike)
        ]
        return found[:limit] if words else []

    def count(self) -> int:
        """Return how many versions there are."""
        return len(self._tools)

    def reap(self, before: str) -> Sequence[str]:
        """Remove bundles that were deleted before this moment and hold no tool; return their ids."""
        with self._lock:
            used = {pair[0] for pair in self._tools}
            over = [
                bundle.id
                for bundle in self._bundles.values()
                if bundle.soft_deleted_at and bundle.soft_deleted_at < before and bundle.id not in used
            ]
            for bundle_id in over:
                del self._bundles[bundle_id]
            return over

    def _check_free(self, tool: ToolVersion) -> None:
        for one in self._tools.values():
            if (one.id == tool.id) != (one.pair == tool.pair):
                raise Taken(f"{tool.slug!r} version {tool.version!r}, or its id, is there already.")

    def _keep(self, tool: ToolVersion) -> Listed:
        self._tools[tool.pair] = tool
        self._moves += 1
        return self._listed(tool)

    def _all(self) -> list[Listed]:
        listed = [self._listed(tool) for tool in list(self._tools.values())]
        return [one for one in listed if not one.bundle.soft_deleted_at]

    def _is_active(self, tool: ToolVersion) -> bool:
        versions = [one for one in self._tools.values() if one.pair[:2] == tool.pair[:2]]
        return active(versions) == tool

    def _listed(self, tool: ToolVersion) -> Listed:
        bundle = self._bundles[tool.bundle_id]
        base = python_name(bundle.slug)
        rivals = [
            one for one in self._bundles.values() if python_name(one.slug) == base and not one.soft_deleted_at
        ]
        pack = pack_names(rivals).get(bundle.id, base)
        same = [
            one
            for one in self._tools.values()
            if one.bundle_id == bundle.id and python_name(one.slug) == python_name(tool.slug)
        ]
        oldest = min(same, key=lambda one: (one.created_at, one.id))
        return Listed(tool, bundle, f"{pack}.{function_name(tool.slug, oldest.slug)}")


def _may_be(tool: ToolVersion, words: Sequence[str], alike: set[str]) -> bool:
    text = " ".join((tool.slug, tool.display_name, tool.description, *tool.tags)).lower()
    return tool.slug in alike or any(word in text for word in words)
