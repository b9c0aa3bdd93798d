"""Tools stored in bundles, looked up by name. The number of stored tools does not affect start-up."""

import time
from collections.abc import Callable, Collection, Hashable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from onetool.domain.bundles.bundle import BundleFilter, StoredTool, ToolVersion
from onetool.domain.bundles.pack_views import BUNDLE_DISABLED, DISABLED
from onetool.domain.calls.invocation import Invocation
from onetool.domain.page import Page
from onetool.domain.search.terms import IndexedTool, TermStatistics
from onetool.domain.tools.tool import Runner, Tool, ToolSpec
from onetool.ports import LOCAL, READY, BundleStore, SourceStatus

ACTIVE = BundleFilter(include_disabled=True, active_only=True)
SAFE_METHODS = frozenset({"GET", "HEAD", "OPTIONS"})
MAX_AGE_S = 1.0
"""How long the names of packs are valid. The store finds files copied by hand only when it is asked."""
MakeRunner = Callable[[ToolVersion], Runner]


class BundleToolSource:
    """The tools of the bundle store. A name resolves to the active version, `name@version` to any version."""

    name = "bundles"
    capabilities = LOCAL

    def __init__(
        self,
        store: BundleStore,
        make_runner: MakeRunner,
        clock: Callable[[], float] = time.monotonic,
        *,
        code_timeout_s: float | None = None,
    ) -> None:
        """code_timeout_s: limit of tools made of code that have no limit of their own."""
        self._store, self._make_runner, self._clock = store, make_runner, clock
        self._code_timeout_s = code_timeout_s
        self._packs: Collection[str] = ()
        self._packs_generation: Hashable = None
        self._packs_expire = 0.0

    def status(self) -> SourceStatus:
        """Return READY: the store is local."""
        return READY

    def generation(self) -> Hashable:
        """Return a value that changes with every change of a bundle."""
        return self._store.generation()

    async def refresh(self) -> None:
        """Do nothing: this source holds no tools."""

    async def find(self, name: str, version: str | None = None) -> Tool | None:
        """Return the requested version, or the active one: the newest enabled version.

        If all versions are disabled, the newest one is returned.
        """
        versions = await self._store.find(name)
        if version is not None:
            versions = [stored for stored in versions if stored.tool.version == version]
        enabled = [stored for stored in versions if stored.tool.is_enabled]
        return self._tool((enabled or versions)[0]) if versions else None

    async def page(self, cursor: str | None, limit: int) -> Page[Tool]:
        """Return active versions after an opaque cursor."""
        page = await self._store.tools(ACTIVE, cursor, limit)
        return Page([self._tool(stored) for stored in page.items], page.next)

    async def packs(self) -> Collection[str]:
        """Return the names of all packs. Every run needs them, so they are read after a change or a while."""
        generation, now = self._store.generation(), self._clock()
        if generation != self._packs_generation or now >= self._packs_expire:
            packs = frozenset(await self._store.packs())
            self._packs, self._packs_generation, self._packs_expire = packs, generation, now + MAX_AGE_S
        return self._packs

    async def pack(self, name: str) -> Sequence[Tool]:
        """Return the active versions of one bundle."""
        if name not in await self.packs():
            return []
        return [self._tool(stored) for stored in await self._store.pack(name)]

    async def matching(self, pattern: str, cursor: str | None, limit: int) -> Page[Tool]:
        """Return active versions whose names contain a text."""
        page = await self._store.tools(replace(ACTIVE, name_contains=pattern), cursor, limit)
        return Page([self._tool(stored) for stored in page.items], page.next)

    async def named(self, names: Collection[str]) -> Sequence[Tool]:
        """Return the active versions of those tools that exist."""
        return [self._tool(stored) for stored in await self._store.named(names)]

    async def pack_sizes(self) -> Mapping[str, int]:
        """Return the number of enabled tools in each bundle that has any."""
        return await self._store.pack_sizes()

    async def term_statistics(self, terms: Collection[str]) -> TermStatistics:
        """Return how common terms are."""
        return await self._store.term_statistics(terms)

    async def similar_terms(self, terms: Sequence[str]) -> Sequence[str]:
        """Return the terms of tools that misspelled ones may stand for."""
        return await self._store.similar_terms(terms)

    async def candidates(
        self, terms: Sequence[str], packs: Collection[str] | None, limit: int
    ) -> Sequence[IndexedTool]:
        """Return the enabled tools that match terms best."""
        return await self._store.candidates(terms, packs, limit)

    async def count(self) -> int:
        """Return the number of stored versions."""
        return await self._store.count()

    def _tool(self, stored: StoredTool) -> Tool:
        tool = stored.tool
        has_runner = tool.http_impl is not None or tool.code_impl is not None
        spec = spec_of(stored, self._code_timeout_s)
        return Tool(spec, _LazyRunner(self._make_runner, tool).run if has_runner else None)


class _LazyRunner:
    """Creates its runner on the first call: most tools of a listing are never called."""

    def __init__(self, make_runner: MakeRunner, tool: ToolVersion) -> None:
        self._make_runner, self._tool = make_runner, tool
        self._runner: Runner | None = None

    async def run(self, args: Mapping[str, Any], invocation: Invocation) -> Any:
        """Run the tool."""
        if self._runner is None:
            self._runner = self._make_runner(self._tool)
        return await self._runner(args, invocation)


def spec_of(stored: StoredTool, code_timeout_s: float | None = None) -> ToolSpec:
    """Return the spec of a stored version.

    code_timeout_s: limit of tools made of code that have no limit of their own.
    """
    tool, limits = stored.tool, stored.tool.limits or {}
    bundle_reason = "" if stored.bundle.is_enabled else BUNDLE_DISABLED
    return ToolSpec(
        name=stored.name,
        id=tool.id,
        description=tool.description or tool.display_name,
        input_schema=_input_schema(tool),
        output_schema=tool.output_schema,
        handler=(tool.python_impl or {}).get("func", ""),
        impl=tool.type,
        origin="bundle",
        version=tool.version,
        enabled=stored.is_enabled,
        disabled_reason=bundle_reason or ("" if tool.is_enabled else DISABLED),
        timeout=limits["timeoutMS"] / 1000 if limits.get("timeoutMS") else None,
        default_timeout=code_timeout_s if tool.type == "code" else None,
        read_only=tool.type != "code" and not _methods(tool) - SAFE_METHODS,
        max_calls_per_minute=limits.get("maxCallsPerMinute"),
        tags=tool.tags,
    )


def _input_schema(tool: ToolVersion) -> Mapping[str, Any]:
    """Return the schema of the arguments. A program can use no others than those that the schema names."""
    if tool.type != "code":
        return tool.arg_schema
    return {"additionalProperties": False, **tool.arg_schema}


def _methods(tool: ToolVersion) -> set[str]:
    impl = tool.http_impl or {}
    requests = [impl["request"]] if impl.get("request") else impl.get("requests", [])
    return {request.get("method", "GET") for request in requests}
