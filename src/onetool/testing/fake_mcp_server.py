"""A fake MCP server without a process."""

from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any, NamedTuple

from onetool.domain.calls.invocation import Invocation
from onetool.domain.errors import LoginFailed
from onetool.domain.servers.manifest import QuarantinedTool, ServerState, ToolAccess
from onetool.domain.tools.registry import Registry
from onetool.domain.tools.tool import JsonSchema, Runner, Tool, ToolSpec
from onetool.ports import SourceCapabilities, SourceStatus
from onetool.sources.snapshot import SnapshotSource, StaticReader


class FakeMcpTool(NamedTuple):
    """A tool of the fake server. `respond` computes its result from the arguments."""

    name: str
    description: str
    input_schema: JsonSchema
    respond: Callable[[Mapping[str, Any]], Any]


class FakeMcpServer(SnapshotSource):
    """A source of the tools of a fake server, which responds only if `connected` is true."""

    def __init__(self, name: str, registry: Registry, connected: bool) -> None:
        super().__init__(StaticReader(name, registry), SourceCapabilities(remote=True))
        self.connected = connected

    @property
    def state(self) -> ServerState:
        """The state of the connection."""
        return "connected" if self.connected else "failed"

    def status(self) -> SourceStatus:
        """Return why the server failed, if it did."""
        return SourceStatus(reason="" if self.connected else "it is not connected")

    async def quarantined(self) -> Sequence[QuarantinedTool]:
        """Return no tools: the definitions never change."""
        return ()

    async def access(self) -> Sequence[ToolAccess]:
        """Return no tools: the fake server has no definitions to review."""
        return ()

    async def approve(self, seen: Mapping[str, str]) -> None:
        """Do nothing: no tool is quarantined."""

    async def login(self, show: Callable[[str], None], open_browser: Callable[[str], bool]) -> None:
        """Raise LoginFailed, because the server requires no login."""
        raise LoginFailed(f"Server {self.name!r} requires no login.")

    async def packs(self) -> Collection[str]:
        """Return the name of the server, even if it has no tools."""
        return (self.name,)

    async def probe(self, timeout_s: float | None = None) -> bool:
        """Return whether the server responds."""
        return self.connected


def fake_mcp_server(name: str, tools: Sequence[FakeMcpTool], *, connected: bool = True) -> FakeMcpServer:
    """Create a server to pass to `memory_runtime(servers=[...])`."""
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
    return FakeMcpServer(name, registry, connected)


def _runner(tool: FakeMcpTool) -> Runner:
    async def run(args: Mapping[str, Any], invocation: Invocation) -> Any:
        return tool.respond(args)

    return run
