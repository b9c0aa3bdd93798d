"""Operations on bundles and their tools: create, replace, enable, delete, list and search."""

import time
from collections.abc import Callable, Collection, Hashable, Mapping, Sequence
from dataclasses import replace
from typing import Any, TypeVar

from onetool.domain.bundles.bundle import (
    AlreadyExists,
    Bundle,
    BundleConflict,
    BundleFilter,
    BundleNotFound,
    ReadOnlyBundle,
    StoredTool,
    ToolKey,
    ToolVersion,
    invalid_field,
    rfc3339,
)
from onetool.domain.bundles.identifiers import check_id, check_key, is_derived_id
from onetool.domain.bundles.pack_views import bundle_id_of, tool_id_of
from onetool.domain.page import Page, all_items
from onetool.domain.text.suggestions import did_you_mean
from onetool.domain.usage.summary import DAY, CallCounter
from onetool.ports import ActivityStore, BundleStore
from onetool.threads import Threads

from .policy import BundlePolicy
from .search import BundleSearch
from .virtual import VirtualBundles, tool_not_found

T = TypeVar("T")
REAP_AFTER = 2 * DAY
MAX_CACHED_NAMES = 4096
PAGE_SIZE = 256


class Bundles:
    """The bundles for every interface: stored ones, and packs of other sources as read-only bundles.

    Every method raises a subclass of BundleError if it fails.
    """

    def __init__(
        self,
        store: BundleStore,
        virtual: VirtualBundles,
        activity: ActivityStore,
        policy: BundlePolicy,
        *,
        threads: Threads,
        new_id: Callable[[], str],
        now: Callable[[], float] = time.time,
    ) -> None:
        self._store, self._virtual, self._activity = store, virtual, activity
        self._policy, self._threads, self._new_id, self._now = policy, threads, new_id, now
        self._search = BundleSearch(store, virtual, policy, threads=threads, is_usable=self._is_usable)
        self._names: tuple[Hashable, dict[ToolKey, str]] = (None, {})

    @property
    def secrets(self) -> Collection[str]:
        """The names of the configured secrets."""
        return self._policy.secrets

    @property
    def problems(self) -> Sequence[str]:
        """Problems that the store found in its files."""
        return self._store.problems

    async def put_bundle(self, bundle_id: str, body: Any) -> tuple[Bundle, bool]:
        """Create or replace a bundle. Return it, and whether it is new."""
        from onetool.domain.bundles.schemas import BundleBody

        from .validation import draft_bundle, validate_body

        await self.reject_read_only(check_id(bundle_id, "bundleID"))
        draft = draft_bundle(bundle_id, validate_body(BundleBody, body))
        at, is_new = rfc3339(self._now()), True

        def change(old: Bundle | None) -> Bundle:
            nonlocal is_new
            is_new = old is None or bool(old.soft_deleted_at)
            return replace(draft, created_at=old.created_at if old else at, modified_at=at)

        bundle = await self._store.change_bundle(draft.id, change)
        return bundle, is_new

    async def set_bundle_enabled(self, bundle_id: str, is_enabled: bool) -> Bundle:
        """Enable or disable a bundle."""
        bundle_id = check_id(bundle_id, "bundleID")
        if await self._virtual.find(bundle_id) is not None:
            await self._virtual.set_enabled(bundle_id, is_enabled)
            return (await self._virtual.bundles())[bundle_id]
        return await self._store.change_bundle(
            bundle_id,
            lambda old: replace(_require_bundle(old, bundle_id), is_enabled=is_enabled),
        )

    async def delete_bundle(self, bundle_id: str) -> None:
        """Mark a bundle as deleted. `reap` removes it once it is empty."""
        bundle_id = check_id(bundle_id, "bundleID")
        await self.reject_read_only(bundle_id)
        at = rfc3339(self._now())
        await self._store.change_bundle(
            bundle_id,
            lambda old: replace(_require_bundle(old, bundle_id), soft_deleted_at=at),
        )

    async def bundle(self, bundle_id: str) -> Bundle:
        """Return one bundle."""
        bundle_id = check_id(bundle_id, "bundleID")
        virtual = await self._virtual.find(bundle_id)
        return virtual or _require_bundle(await self._store.bundle(bundle_id), bundle_id)

    async def named(self, name: str) -> list[Bundle]:
        """Return the bundles with this slug or id. Starts servers only if a pack has this name."""
        everything = BundleFilter(include_disabled=True)
        stored = all_items(lambda after: self._store.bundles(everything, after, PAGE_SIZE))
        return [
            *await self._virtual.named(name),
            *[bundle async for bundle in stored if name in (bundle.id, bundle.slug)],
        ]

    async def list_bundles(self, filter: BundleFilter, after: str | None, limit: int) -> Page[Bundle]:
        """Return bundles whose ids come after `after`: first the virtual ones, then the stored ones."""
        virtual = [
            bundle
            for id, bundle in sorted((await self._virtual.bundles()).items())
            if id > (after or "") and filter.matches_bundle(bundle)
        ]
        if len(virtual) > limit:
            return Page(virtual[:limit], virtual[limit - 1].id)
        stored = await self._store.bundles(filter, after, limit - len(virtual) or 1)
        return _concatenate(virtual, stored, limit, lambda bundle: bundle.id)

    async def disable_names(self, packs: Sequence[str], tools: Sequence[str]) -> None:
        """Disable packs and tools that are not stored, by name. They need not exist yet."""
        for pack in packs:
            await self._virtual.set_enabled(bundle_id_of(pack), False)
        for tool in tools:
            await self._virtual.set_enabled(tool_id_of(tool), False)

    async def disabled_names(self) -> tuple[list[str], list[str]]:
        """Return the names of the packs and of the tools that are disabled and not stored."""
        virtual = await self._virtual.tools()
        packs = {stored.bundle.display_name for stored in virtual if not stored.bundle.is_enabled}
        tools = {(stored.tool.python_impl or {})["func"] for stored in virtual if not stored.tool.is_enabled}
        return sorted(packs), sorted(tools)

    async def put_tool(self, key: ToolKey, body: Any) -> StoredTool:
        """Create a tool version."""
        key = check_key(key)
        from onetool.domain.bundles.schemas import ToolBody

        from .validation import check_tags, draft_tool, validate_body

        await self.reject_read_only(key[0])
        valid_body = validate_body(ToolBody, body)
        check_tags(valid_body.tags)
        hosts = self._policy.allowed_hosts
        draft = await self._threads.run(draft_tool, self._new_id(), key, valid_body, hosts)
        await self._check_function(draft)
        at = rfc3339(self._now())
        tool = replace(draft, created_at=at, modified_at=at)
        return await self.add_tool(
            tool, lambda bundle: _check_enabled(_require_bundle(bundle, tool.bundle_id))
        )

    def write_program(self, steps: Any, arg_schema: Mapping[str, Any], result: Any = None) -> str:
        """Return the program of the steps of a tool, without storing it."""
        from .code_tools import check_parameters, program_of_steps
        from .validation import check_numbers

        check_numbers([steps, arg_schema])
        check_parameters(arg_schema)
        return program_of_steps(steps, arg_schema, result)

    async def add_tool(self, tool: ToolVersion, check: Callable[[Bundle | None], None]) -> StoredTool:
        """Store a valid tool version, unless `check` raises for its bundle."""
        await self.check_capacity(1)
        try:
            return await self._store.add_tool(tool, check)
        except AlreadyExists:
            raise AlreadyExists(
                f"{tool.slug!r} version {tool.version!r} already exists and cannot be changed. "
                f"Choose another version, or delete this one first."
            ) from None

    async def check_capacity(self, added: int) -> None:
        """Check that the limit allows this many more tools."""
        limit = self._policy.max_tools
        if await self._store.count() + added > limit:
            raise BundleConflict(f"No more than {limit} tools can be stored (execution.max_tools).")

    async def set_tool_enabled(self, key: ToolKey, is_enabled: bool) -> StoredTool:
        """Enable or disable a tool version."""
        key = check_key(key)
        virtual = await self._virtual.tool(key)
        if virtual is not None:
            _check_enabled(virtual.bundle)
            await self._virtual.set_enabled(virtual.tool.id, is_enabled)
            return await self.tool(key)

        def change(bundle: Bundle | None, tool: ToolVersion | None) -> ToolVersion:
            _check_enabled(_require_bundle(bundle, key[0]))
            return replace(_require_tool(tool, key), is_enabled=is_enabled)

        return await self._store.change_tool(key, change)

    async def delete_tool(self, key: ToolKey) -> None:
        """Delete a tool version permanently, even if its bundle is deleted or disabled."""
        key = check_key(key)
        await self.reject_read_only(key[0])
        if not await self._store.delete_tool(key):
            raise tool_not_found(key)

    async def tool(self, key: ToolKey) -> StoredTool:
        """Return a tool version."""
        key = check_key(key)
        stored = await self._virtual.tool(key) or await self._store.tool(key)
        if stored is None:
            _require_bundle(await self._store.bundle(key[0]), key[0])
            raise tool_not_found(key)
        _require_bundle(stored.bundle, key[0])
        return stored

    async def tool_name(self, key: ToolKey) -> str:
        """Return the name `pack.function@version` of a version. Cached until something changes."""
        generation = self._store.generation(), self._virtual.generation()
        if self._names[0] != generation or len(self._names[1]) > MAX_CACHED_NAMES:
            self._names = generation, {}
        names = self._names[1]  # of this generation, even if another one starts during the await below
        name = names.get(key)
        if name is None:
            stored = await self.tool(key)
            name = names[key] = f"{stored.name}@{stored.tool.version}"
        return name

    async def list_tools(self, filter: BundleFilter, after: str | None, limit: int) -> Page[StoredTool]:
        """Return tool versions whose ids come after `after`: first the virtual ones, then the stored ones."""
        is_stored = filter.bundle_ids and not any(map(is_derived_id, filter.bundle_ids))
        tools = [] if is_stored else await self._virtual.tools()
        virtual = [
            tool
            for tool in sorted(tools, key=lambda tool: tool.tool.id)
            if tool.tool.id > (after or "") and filter.matches(tool)
        ]
        if len(virtual) > limit:
            return Page(virtual[:limit], virtual[limit - 1].tool.id)
        stored = await self._store.tools(filter, after, limit - len(virtual) or 1)
        usable = Page([tool for tool in stored.items if await self._is_usable(tool, filter)], stored.next)
        return _concatenate(virtual, usable, limit, lambda tool: tool.tool.id)

    async def search(
        self, query: str, filter: BundleFilter, cursor: str | None, limit: int
    ) -> Page[StoredTool]:
        """Return tools that match a query, best first."""
        return await self._search.find(query, filter, cursor, limit)

    async def counters(self, tools: Sequence[StoredTool]) -> Mapping[str, CallCounter]:
        """Return the call counters of tools, by tool id."""
        return await self._activity.counters([tool.tool.id for tool in tools])

    async def disabled_reason(self, stored: StoredTool) -> str:
        """Return why an enabled tool cannot be called; empty if it can."""
        func = (stored.tool.python_impl or {}).get("func")
        if stored.bundle.origin != "bundle" or func is None or await self._policy.has_function(func):
            return ""
        return "function not registered"

    async def _is_usable(self, stored: StoredTool, filter: BundleFilter) -> bool:
        """Return whether a tool counts as enabled, or whether the filter includes disabled ones."""
        return filter.include_disabled or not await self.disabled_reason(stored)

    async def reap(self) -> Sequence[str]:
        """Remove empty bundles that were deleted at least two days ago. Return their ids."""
        return await self._store.reap(rfc3339(self._now() - REAP_AFTER))

    async def _check_function(self, tool: ToolVersion) -> None:
        func = (tool.python_impl or {}).get("func")
        if func is not None and not await self._policy.has_function(func):
            hint = did_you_mean(func, [virtual.name for virtual in await self._virtual.tools()])
            raise invalid_field("pythonImpl.func", f"no function {func!r} is registered.{hint}")

    async def reject_read_only(self, bundle_id: str) -> None:
        """Check that a bundle is not virtual.

        Raises:
            ReadOnlyBundle: The bundle is a pack of another source.
        """
        bundle = await self._virtual.find(bundle_id)
        if bundle is not None:
            raise ReadOnlyBundle(
                f"Bundle {bundle.slug!r} is read-only. You can only enable or disable it and its tools."
            )


def _require_bundle(bundle: Bundle | None, bundle_id: str) -> Bundle:
    if bundle is None or bundle.soft_deleted_at:
        raise BundleNotFound(f"There is no bundle {bundle_id}.")
    return bundle


def _require_tool(tool: ToolVersion | None, key: ToolKey) -> ToolVersion:
    if tool is None:
        raise tool_not_found(key)
    return tool


def _check_enabled(bundle: Bundle) -> None:
    if not bundle.is_enabled:
        raise BundleConflict(f"Bundle {bundle.slug!r} is disabled. Enable it before you change its tools.")


def _concatenate(virtual: list[T], stored: Page[T], limit: int, cursor: Callable[[T], str]) -> Page[T]:
    """Return a page that starts with virtual items and continues with stored ones."""
    if len(virtual) < limit:
        return Page([*virtual, *stored.items], stored.next)
    return Page(virtual, cursor(virtual[-1]) if stored.items or stored.next else None)
