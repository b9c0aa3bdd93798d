"""Stored tools, asked for by name: however many there are, none is loaded before it is called."""

from collections.abc import Callable, Collection, Hashable, Mapping, Sequence
from typing import Any

from onetool.domain.bundle import Filter, Listed, ToolVersion
from onetool.domain.invocation import Invocation
from onetool.domain.paging import Page
from onetool.domain.shelf import BUNDLE_OFF, OFF
from onetool.domain.tool import Runner, Tool, ToolSpec
from onetool.ports import BundleStore
from onetool.threads import Threads

ACTIVE = Filter(include_disabled=True, active_only=True)
READING = frozenset({"GET", "HEAD", "OPTIONS"})
MakeRunner = Callable[[ToolVersion], Runner]


class BundleTools:
    """A source over the store of bundles. A name stands for the active version; `name@version` for any."""

    name = "bundles"

    def __init__(self, store: BundleStore, make_runner: MakeRunner, threads: Threads) -> None:
        self._store, self._make_runner, self._threads = store, make_runner, threads

    def generation(self) -> Hashable:
        """Moves with every change of a bundle."""
        return self._store.generation()

    async def refresh(self) -> None:
        """Nothing is held here that could be old."""

    async def find(self, name: str, version: str | None = None) -> Tool | None:
        """Return the version that is asked for, or the active one: the newest that is switched on."""
        found = await self._threads.run(self._store.find, name)
        if version is not None:
            found = [listed for listed in found if listed.tool.version == version]
        enabled = [listed for listed in found if listed.tool.is_enabled]
        return self._tool((enabled or found)[0]) if found else None

    async def page(self, cursor: str | None, limit: int) -> Page[Tool]:
        """Return active versions from an opaque cursor on."""
        page = await self._threads.run(self._store.tools, ACTIVE, cursor, limit)
        return Page([self._tool(listed) for listed in page.items], page.next)

    async def packs(self) -> Collection[str]:
        """Return the names of all packs."""
        return await self._threads.run(self._store.packs)

    async def pack(self, name: str) -> Sequence[Tool]:
        """Return the active versions of one bundle."""
        return [self._tool(listed) for listed in await self._threads.run(self._store.pack, name)]

    async def count(self) -> int:
        """Return how many versions are stored."""
        return await self._threads.run(self._store.count)

    def _tool(self, listed: Listed) -> Tool:
        is_http = listed.tool.http_impl is not None
        return Tool(spec_of(listed), _Later(self._make_runner, listed.tool).run if is_http else None)


class _Later:
    """A runner that is made when it is first called: most tools of a listing never are."""

    def __init__(self, make: MakeRunner, tool: ToolVersion) -> None:
        self._make, self._tool = make, tool
        self._runner: Runner | None = None

    async def run(self, args: Mapping[str, Any], invocation: Invocation) -> Any:
        """Run the tool."""
        if self._runner is None:
            self._runner = self._make(self._tool)
        return await self._runner(args, invocation)


def spec_of(listed: Listed) -> ToolSpec:
    """A stored version as the rest of the house knows tools."""
    tool, limits = listed.tool, listed.tool.limits or {}
    why = "" if listed.bundle.is_enabled else BUNDLE_OFF
    return ToolSpec(
        name=listed.name,
        id=tool.id,
        description=tool.description or tool.display_name,
        input_schema=tool.arg_schema,
        output_schema=tool.output_schema,
        handler=(tool.python_impl or {}).get("func", ""),
        impl=tool.type,
        origin="bundle",
        version=tool.version,
        enabled=listed.is_enabled,
        disabled_reason=why or ("" if tool.is_enabled else OFF),
        timeout=limits["timeoutMS"] / 1000 if limits.get("timeoutMS") else None,
        changes=bool(_methods(tool) - READING),
        max_calls_per_minute=limits.get("maxCallsPerMinute"),
        tags=tool.tags,
    )


def _methods(tool: ToolVersion) -> set[str]:
    impl = tool.http_impl or {}
    requests = [impl["request"]] if impl.get("request") else impl.get("requests", [])
    return {request.get("method", "GET") for request in requests}
