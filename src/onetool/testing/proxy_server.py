"""Another MCP server, without a process: tools that are lambdas, answering or not."""

from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any, NamedTuple

from onetool.domain.errors import LoginFailed
from onetool.domain.invocation import Invocation
from onetool.domain.manifest import HeldBack, ServerState
from onetool.domain.registry import Registry
from onetool.domain.tool import JsonSchema, Runner, Tool, ToolSpec
from onetool.sources.snapshot import Fixed, Snapshot


class ProxyTool(NamedTuple):
    """A tool of another server: its name there, and what it answers."""

    name: str
    description: str
    input_schema: JsonSchema
    answer: Callable[[Mapping[str, Any]], Any]


class ProxyServer(Snapshot):
    """A source whose tools belong to a server; `connected` says whether that answers."""

    def __init__(self, name: str, registry: Registry, connected: bool) -> None:
        super().__init__(Fixed(name, registry))
        self.is_remote = True
        self.connected = connected

    @property
    def state(self) -> ServerState:
        """How far it is."""
        return "started" if self.connected else "failed"

    @property
    def reason(self) -> str:
        """Why it has failed."""
        return "" if self.connected else "it is not connected"

    async def held_back(self) -> Sequence[HeldBack]:
        """Nothing: what a fake lists does not change."""
        return ()

    async def approve(self, seen: Mapping[str, str]) -> None:
        """There is nothing to approve."""

    async def login(self, show: Callable[[str], None], open_browser: Callable[[str], bool]) -> None:
        """There is nobody to log in with."""
        raise LoginFailed(f"{self.name!r} wants no login.")

    async def packs(self) -> Collection[str]:
        """Return its name, also where it lists nothing."""
        return (self.name,)

    async def probe(self, patience: float | None = None) -> bool:
        """Return whether the server answers."""
        return self.connected


def proxy_server(name: str, tools: Sequence[ProxyTool], *, connected: bool = True) -> ProxyServer:
    """Make a server of this name, to be given to `memory_runtime(servers=[...])`."""
    registry = Registry()
    for tool in tools:
        spec = ToolSpec(
            name=f"{name}.{tool.name}",
            description=tool.description,
            input_schema=tool.input_schema,
            impl="proxy",
            origin="proxy",
            source=f"proxy:{name}",
        )
        registry.register(Tool(spec, _runner(tool)))
    return ProxyServer(name, registry, connected)


def _runner(tool: ProxyTool) -> Runner:
    async def run(args: Mapping[str, Any], invocation: Invocation) -> Any:
        return tool.answer(args)

    return run
