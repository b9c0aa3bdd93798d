"""What a client sees in its lists, so that it can be told when they change. No server is started for that."""

from collections.abc import Awaitable, Callable, Hashable

from onetool.domain.calls.caller import Caller
from onetool.domain.servers.server_item import ItemKind
from onetool.domain.tools.tool import Tool
from onetool.runtime.runtime import Runtime

ITEMS: dict[str, tuple[ItemKind, ...]] = {"resources": ("resource", "template"), "prompts": ("prompt",)}
Snapshot = Callable[[], Awaitable[dict[str, Hashable]]]
"""Returns a value for each list, which changes when the list does: tools, resources and prompts."""


def list_snapshot(runtime: Runtime, *, has_tools: bool, server: str | None = None) -> Snapshot:
    """Return a function that describes the lists. It computes them again only if something has changed.

    has_tools: whether clients see the tools themselves.
    server: the only server that clients see.
    """
    caller = Caller(interface="mcp")
    key: Hashable = None
    known: dict[str, Hashable] = {}

    async def snapshot() -> dict[str, Hashable]:
        nonlocal key, known
        catalog = runtime.state.catalog
        current = (id(catalog), await catalog.generation())
        if current != key:
            known = await _contents(runtime, caller, server)
            if has_tools:
                known["tools"] = await _tools(runtime, caller, server)
            key = current
        return known

    return snapshot


async def _tools(runtime: Runtime, caller: Caller, server: str | None) -> Hashable:
    tools = runtime.state.catalog.tools(caller, start_servers=False)
    return hash(tuple([_describe(tool) async for tool in tools if server in (None, tool.spec.pack)]))


def _describe(tool: Tool) -> Hashable:
    spec = tool.spec
    return spec.name, repr(
        tool.definition or (spec.title, spec.description, spec.input_schema, spec.read_only)
    )


async def _contents(runtime: Runtime, caller: Caller, server: str | None) -> dict[str, Hashable]:
    contents, found = runtime.state.contents, dict[str, Hashable]()
    for name, kinds in ITEMS.items():
        items = [
            (item.name, item.item.pin)
            for kind in kinds
            for item in await contents.items(kind, caller, server, start_servers=False)
        ]
        found[name] = hash(tuple(items))
    return found
