"""A fake MCP server without a process."""

from asyncio import StreamReader, StreamWriter
from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from typing import Any, NamedTuple

from onetool.domain.calls.caller import Caller
from onetool.domain.calls.invocation import Invocation
from onetool.domain.content.resources import PromptContent, ResourceContent
from onetool.domain.errors import ContentNotFound, ExecutionError, LoginFailed, Reason
from onetool.domain.health import ServerState
from onetool.domain.servers.instructions import InstructionsReview
from onetool.domain.servers.manifest import QuarantinedTool, ToolAccess
from onetool.domain.servers.server_item import ItemKind, ListedItem
from onetool.domain.servers.startup import StartReport
from onetool.domain.tools.registry import Registry
from onetool.domain.tools.tool import JsonSchema, Runner, Tool, ToolSpec
from onetool.ports import ContentSource, SourceCapabilities, SourceStatus
from onetool.sources.snapshot import SnapshotSource, StaticReader


class FakeMcpTool(NamedTuple):
    """A tool of the fake server. `respond` computes its result from the arguments."""

    name: str
    description: str
    input_schema: JsonSchema
    respond: Callable[[Mapping[str, Any]], Any]


class NoContents:
    """A ContentSource without anything."""

    async def declared(self) -> Mapping[str, Any]:
        """Return only tools."""
        return {"tools": {}}

    async def items(self, kind: ItemKind, *, start: bool = True) -> Sequence[ListedItem]:
        """Return nothing."""
        return ()

    async def read(self, uri: str, caller: Caller, deadline: float) -> ResourceContent:
        """Raise ContentNotFound."""
        raise ContentNotFound(f"Resource not found: {uri!r}.")

    async def prompt(
        self, name: str, args: Mapping[str, str], caller: Caller, deadline: float
    ) -> PromptContent:
        """Raise ContentNotFound."""
        raise ContentNotFound(f"Prompt not found: {name!r}.")

    async def subscribe(self, uri: str, listener: Callable[[str], None]) -> None:
        """Raise ContentNotFound."""
        raise ContentNotFound(f"Resource not found: {uri!r}.")

    async def unsubscribe(self, uri: str, listener: Callable[[str], None]) -> None:
        """Do nothing."""

    async def set_log_level(self, level: str) -> None:
        """Do nothing."""

    async def pass_on(self, method: str, params: Mapping[str, Any], deadline: float) -> Mapping[str, Any]:
        """Raise ExecutionError."""
        raise ExecutionError(Reason.UPSTREAM, f"Method not found: {method!r}.")

    async def complete(self, params: Mapping[str, Any]) -> Mapping[str, Any]:
        """Return no values."""
        return {"completion": {"values": []}}


class FakeMcpServer(SnapshotSource):
    """A source of the tools of a fake server, which responds only if `connected` is true."""

    def __init__(self, name: str, registry: Registry, connected: bool) -> None:
        super().__init__(StaticReader(name, registry), SourceCapabilities(remote=True))
        self.connected = connected

    @property
    def state(self) -> ServerState:
        """The state of the connection."""
        return "connected" if self.connected else "failed"

    @property
    def has_login(self) -> bool:
        """The fake server has no login."""
        return False

    @property
    def logins(self) -> None:
        """The fake server has no logins."""
        return

    @property
    def contents(self) -> ContentSource:
        """The fake server has only tools."""
        return NoContents()

    async def restrictions(self) -> str:
        """Return nothing: the fake server has no program."""
        return ""

    def last_start(self) -> StartReport:
        """Return an empty report: the fake server does not start."""
        return StartReport()

    def status(self) -> SourceStatus:
        """Return why the server failed, if it did."""
        return SourceStatus(reason="" if self.connected else "it is not connected")

    async def list_with_login(self, caller: Caller) -> None:
        """Raise ExecutionError: the fake server has no logins."""
        raise ExecutionError(Reason.UPSTREAM, f"Server {self.name!r} has no login.")

    async def relay(self, digest: str) -> Callable[[StreamReader, StreamWriter], Awaitable[None]]:
        """Raise ExecutionError: the fake server has no program to share."""
        raise ExecutionError(Reason.UPSTREAM, f"Server {self.name!r} has no program.")

    async def quarantined(self) -> Sequence[QuarantinedTool]:
        """Return no tools: the definitions never change."""
        return ()

    async def access(self) -> Sequence[ToolAccess]:
        """Return no tools: the fake server has no definitions to review."""
        return ()

    async def approve(self, seen: Mapping[str, str]) -> None:
        """Do nothing: no tool is quarantined."""

    async def instructions(self) -> InstructionsReview:
        """Return none: the fake server has no handshake."""
        return InstructionsReview()

    async def approve_instructions(self, pin: str) -> None:
        """Do nothing: no instructions are quarantined."""

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
        registry.add(Tool(spec, _runner(tool)))
    return FakeMcpServer(name, registry, connected)


def _runner(tool: FakeMcpTool) -> Runner:
    async def run(args: Mapping[str, Any], invocation: Invocation) -> Any:
        return tool.respond(args)

    return run
