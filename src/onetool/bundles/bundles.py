"""What may be done with bundles: create, replace, switch, delete, list, find, export, import."""

import time
from collections.abc import Callable, Collection, Hashable, Mapping, Sequence
from dataclasses import replace
from typing import Any, TypeVar

from onetool.domain.bundle import (
    Bundle,
    Filter,
    InvalidBundle,
    Listed,
    NoSuchBundle,
    Pair,
    ReadOnly,
    Refused,
    Taken,
    ToolVersion,
    rfc3339,
)
from onetool.domain.bundle_ids import check_id, check_pair
from onetool.domain.nearest import did_you_mean
from onetool.domain.paging import Page
from onetool.domain.ranking import rank
from onetool.domain.usage import DAY, Counter
from onetool.ports import BundleStore, CounterStore
from onetool.threads import Threads

from .rules import Rules
from .unstored import Unstored, missing

T = TypeVar("T")
REAPED_AFTER = 2 * DAY
REMEMBERED = 4096
CANDIDATES = 200
"""How many tools a search ranks."""
ENOUGH = 10
"""Where so many tools have the words of a query, no others are looked for."""


class Bundles:
    """One way to bundles for every door. Raises BundleError."""

    def __init__(
        self,
        store: BundleStore,
        unstored: Unstored,
        counters: CounterStore,
        rules: Rules,
        *,
        threads: Threads,
        new_id: Callable[[], str],
        now: Callable[[], float] = time.time,
    ) -> None:
        self._store, self._unstored, self._counters = store, unstored, counters
        self._rules, self._threads = rules, threads
        self._new_id, self._now = new_id, now
        self._names: tuple[Hashable, dict[Pair, str]] = (None, {})

    @property
    def secrets(self) -> Collection[str]:
        """Names of the secrets that there are."""
        return self._rules.secrets

    @property
    def problems(self) -> Sequence[str]:
        """Files that were found damaged and set aside."""
        return self._store.problems

    async def put_bundle(self, bundle_id: str, body: Any) -> tuple[Bundle, bool]:
        """Create or replace a bundle; return it, and whether it is new."""
        from onetool.domain.bundle_bodies import BundleBody

        from .drafts import check_shape, draft_bundle

        await self.refuse_shelf(check_id(bundle_id, "bundleID"))
        draft = draft_bundle(bundle_id, check_shape(BundleBody, body))
        at, replaced = rfc3339(self._now()), list[bool]()

        def change(old: Bundle | None) -> Bundle:
            is_there = old is not None and not old.soft_deleted_at
            replaced[:] = [is_there]
            return replace(draft, created_at=old.created_at if old else at, modified_at=at)

        bundle = await self._in_thread(self._store.change_bundle, draft.id, change)
        return bundle, not replaced[0]

    async def switch_bundle(self, bundle_id: str, is_enabled: bool) -> Bundle:
        """Switch a bundle on or off."""
        bundle_id = check_id(bundle_id, "bundleID")
        if bundle_id in await self._unstored.bundles():
            await self._unstored.switch(bundle_id, is_enabled)
            return (await self._unstored.bundles())[bundle_id]
        return await self._in_thread(
            self._store.change_bundle,
            bundle_id,
            lambda old: replace(_there(old, bundle_id), is_enabled=is_enabled),
        )

    async def delete_bundle(self, bundle_id: str) -> None:
        """Mark a bundle as deleted; the reaper removes it when it is empty."""
        bundle_id = check_id(bundle_id, "bundleID")
        await self.refuse_shelf(bundle_id)
        at = rfc3339(self._now())
        await self._in_thread(
            self._store.change_bundle,
            bundle_id,
            lambda old: replace(_there(old, bundle_id), soft_deleted_at=at),
        )

    async def bundle(self, bundle_id: str) -> Bundle:
        """Return one bundle."""
        bundle_id = check_id(bundle_id, "bundleID")
        found = (await self._unstored.bundles()).get(bundle_id)
        return found or _there(await self._in_thread(self._store.bundle, bundle_id), bundle_id)

    async def list_bundles(self, wanted: Filter, after: str | None, limit: int) -> Page[Bundle]:
        """Return bundles whose ids come after this one: those that are not stored come first."""
        shelf = sorted((await self._unstored.bundles()).items())
        here = [bundle for id, bundle in shelf if id > (after or "") and wanted.takes_bundle(bundle)]
        if len(here) > limit:
            return Page(here[:limit], here[limit - 1].id)
        rest = await self._in_thread(self._store.bundles, wanted, after, limit - len(here) or 1)
        return _joined(here, rest, limit, lambda bundle: bundle.id)

    async def put_tool(self, pair: Pair, body: Any) -> Listed:
        """Create a tool version."""
        pair = check_pair(pair)
        from onetool.domain.bundle_bodies import ToolBody

        from .drafts import check_shape, draft_tool

        await self.refuse_shelf(pair[0])
        shape = check_shape(ToolBody, body)
        draft = draft_tool(self._new_id(), pair, shape, self._rules.allowed_hosts)
        await self._check_function(draft)
        at = rfc3339(self._now())
        tool = replace(draft, created_at=at, modified_at=at)
        return await self.add_tool(tool, lambda bundle: _check_open(_there(bundle, tool.bundle_id)))

    async def add_tool(self, tool: ToolVersion, check: Callable[[Bundle | None], None]) -> Listed:
        """Store a tool version that is in its shape, if the check of its bundle lets it pass."""
        await self.check_room(1)
        try:
            return await self._in_thread(self._store.add_tool, tool, check)
        except Taken:
            raise Taken(
                f"{tool.slug!r} version {tool.version!r} is there already and stays as it is. "
                f"Choose another version, or delete that one first."
            ) from None

    async def check_room(self, more: int) -> None:
        """Refuse more tools than the operator allows."""
        most = self._rules.max_tools
        if await self._in_thread(self._store.count) + more > most:
            raise Refused(f"No more than {most} tools may be stored: execution.max_tools says so.")

    async def switch_tool(self, pair: Pair, is_enabled: bool) -> Listed:
        """Switch a tool version on or off."""
        pair = check_pair(pair)
        shelved = await self._unstored.tool(pair)
        if shelved is not None:
            _check_open(shelved.bundle)
            await self._unstored.switch(shelved.tool.id, is_enabled)
            return await self.tool(pair)

        def change(bundle: Bundle | None, tool: ToolVersion | None) -> ToolVersion:
            _check_open(_there(bundle, pair[0]))
            return replace(_found(tool, pair), is_enabled=is_enabled)

        return await self._in_thread(self._store.change_tool, pair, change)

    async def delete_tool(self, pair: Pair) -> None:
        """Remove a tool version for good, also from a bundle that is deleted or switched off."""
        pair = check_pair(pair)
        await self.refuse_shelf(pair[0])
        if not await self._in_thread(self._store.delete_tool, pair):
            raise missing(pair)

    async def tool(self, pair: Pair) -> Listed:
        """Return a tool version."""
        pair = check_pair(pair)
        found = await self._unstored.tool(pair) or await self._in_thread(self._store.tool, pair)
        if found is None:
            _there(await self._in_thread(self._store.bundle, pair[0]), pair[0])
            raise missing(pair)
        _there(found.bundle, pair[0])
        return found

    async def name_of(self, pair: Pair) -> str:
        """Return the name by which a version is called; remembered until something changes."""
        state = self._store.generation(), self._unstored.generation()
        if self._names[0] != state or len(self._names[1]) > REMEMBERED:
            self._names = state, {}
        names = self._names[1]  # of this state, also if another begins while we wait
        name = names.get(pair)
        if name is None:
            listed = await self.tool(pair)
            name = names[pair] = f"{listed.name}@{listed.tool.version}"
        return name

    async def list_tools(self, wanted: Filter, after: str | None, limit: int) -> Page[Listed]:
        """Return tool versions whose ids come after this one: those that are not stored come first."""
        shelf = sorted(await self._unstored.tools(), key=lambda listed: listed.tool.id)
        here = [listed for listed in shelf if listed.tool.id > (after or "") and wanted.takes(listed)]
        if len(here) > limit:
            return Page(here[:limit], here[limit - 1].tool.id)
        rest = await self._in_thread(self._store.tools, wanted, after, limit - len(here) or 1)
        usable = Page(await self._usable(rest.items, wanted), rest.next)
        return _joined(here, usable, limit, lambda listed: listed.tool.id)

    async def search(self, query: str, wanted: Filter) -> list[Listed]:
        """Return the tools that are meant, the best first."""
        stored = await self._in_thread(self._store.matching, query, wanted, CANDIDATES)
        shelf = [listed for listed in await self._unstored.tools() if wanted.takes(listed)]
        found = await self._in_thread(rank, query, [*shelf, *await self._usable(stored, wanted)])
        if len(found) >= ENOUGH:
            return found
        known = {listed.tool.id for listed in found}
        return found + [one for one in await self._fitting(query, shelf) if one.tool.id not in known]

    async def _fitting(self, query: str, shelf: Sequence[Listed]) -> list[Listed]:
        """Tools that are described in other words than the query's."""
        here = {listed.name: listed for listed in shelf}
        found: list[Listed] = []
        for name in await self._rules.fitting(query):
            found += [here[name]] if name in here else (await self._in_thread(self._store.find, name))[:1]
        return found

    async def counters(self, tools: Sequence[Listed]) -> Mapping[str, Counter]:
        """Return how often tools were called, by their ids."""
        return await self._in_thread(self._counters.find, [listed.tool.id for listed in tools])

    async def disabled_reason(self, listed: Listed) -> str:
        """Why a tool cannot be called although it is switched on; empty when it can."""
        func = (listed.tool.python_impl or {}).get("func")
        if listed.bundle.origin != "bundle" or func is None or await self._rules.has_function(func):
            return ""
        return "function not registered"

    async def _usable(self, listed: Sequence[Listed], wanted: Filter) -> list[Listed]:
        """Those that are wanted: a tool whose function is gone counts as switched off."""
        if wanted.include_disabled:
            return list(listed)
        return [one for one in listed if not await self.disabled_reason(one)]

    async def reap(self) -> Sequence[str]:
        """Remove what was deleted two days ago and is empty; return the ids."""
        return await self._in_thread(self._store.reap, rfc3339(self._now() - REAPED_AFTER))

    async def _check_function(self, tool: ToolVersion) -> None:
        func = (tool.python_impl or {}).get("func")
        if func is not None and not await self._rules.has_function(func):
            meant = did_you_mean(func, [listed.name for listed in await self._unstored.tools()])
            raise InvalidBundle(f"pythonImpl.func: no function {func!r} is registered.{meant}")

    async def refuse_shelf(self, bundle_id: str) -> None:
        """Let only what is stored here pass."""
        bundle = (await self._unstored.bundles()).get(bundle_id)
        if bundle is not None:
            raise ReadOnly(
                f"Bundle {bundle.slug!r} is not stored here: only its switch and its tools' can change."
            )

    async def _in_thread(self, function: Callable[..., T], *args: Any) -> T:
        return await self._threads.run(function, *args)


def _there(bundle: Bundle | None, bundle_id: str) -> Bundle:
    if bundle is None or bundle.soft_deleted_at:
        raise NoSuchBundle(f"There is no bundle {bundle_id}.")
    return bundle


def _found(tool: ToolVersion | None, pair: Pair) -> ToolVersion:
    if tool is None:
        raise missing(pair)
    return tool


def _check_open(bundle: Bundle) -> None:
    if not bundle.is_enabled:
        raise Refused(f"Bundle {bundle.slug!r} is switched off: nothing in it changes until it is on again.")


def _joined(here: list[T], rest: Page[T], limit: int, key: Callable[[T], str]) -> Page[T]:
    """A page that begins with what is not stored and goes on with what is."""
    if len(here) < limit:
        return Page([*here, *rest.items], rest.next)
    return Page(here, key(here[-1]) if rest.items or rest.next else None)
