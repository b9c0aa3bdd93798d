"""The MCP door: what a client lists and calls, over any transport."""

import asyncio
from collections.abc import Mapping
from typing import Any

import mcp_types as types
from mcp.server.context import ServerRequestContext
from mcp.server.lowlevel.server import Server

from onetool.domain.caller import Approve, Caller, grant, ignore, refuse
from onetool.domain.json_text import jsonable, pretty
from onetool.domain.texts import cut
from onetool.runtime import Runtime
from onetool.version import __version__

from .presents import PRESENTATIONS, Presentation

INSTRUCTIONS = {
    "run": "OneTool: one tool, `run`, reaches every tool here.",
    "search": "OneTool: find_tools finds what is needed, call_tool calls it.",
    "all": "OneTool: every tool here, by its own name.",
}
Context = ServerRequestContext[Any, Any]
LONGEST_VALUE = 500


def create_server(runtime: Runtime, expose: str) -> Server[Any]:
    """Make a server that presents tools in this way: run, search or all."""
    presentation: Presentation = PRESENTATIONS[expose](runtime)

    async def list_tools(
        context: Context, params: types.PaginatedRequestParams | None
    ) -> types.ListToolsResult:
        shown, following = await presentation.page(
            params.cursor if params else None, _caller(runtime, context)
        )
        tools = [
            types.Tool(
                name=one.name,
                description=one.description,
                input_schema=dict(one.input_schema),
                annotations=None
                if one.read_only is None
                else types.ToolAnnotations(read_only_hint=one.read_only),
            )
            for one in shown
        ]
        return types.ListToolsResult(tools=tools, next_cursor=following)

    async def call_tool(context: Context, params: types.CallToolRequestParams) -> types.CallToolResult:
        progress = _Progress(context, runtime)
        said = await presentation.call(
            params.name, params.arguments or {}, _caller(runtime, context, progress)
        )
        await progress.sent()
        return types.CallToolResult(
            content=[types.TextContent(type="text", text=said.text)], is_error=said.is_error
        )

    own = runtime.configuration.prompts.instructions.strip()
    return Server(
        "onetool",
        version=__version__,
        instructions="\n".join(text for text in (INSTRUCTIONS[expose], own) if text),
        on_list_tools=list_tools,
        on_call_tool=call_tool,
    )


def _caller(runtime: Runtime, context: Context, progress: "_Progress | None" = None) -> Caller:
    policy = runtime.configuration.settings.approval.mcp
    approvals: Mapping[str, Approve] = {"allow": grant, "deny": refuse, "ask": _asking(context, runtime)}
    report = progress.report if progress else ignore
    return Caller(door="mcp", session=_session(context), approve=approvals[policy], progress=report)


def _session(context: Context) -> str:
    """The client's own session where the transport has one; otherwise the process is the session."""
    headers = getattr(context.request, "headers", None)
    return headers.get("mcp-session-id", "") if headers is not None else ""


class _Progress:
    """Passes progress on to the client; tools may report it from any thread."""

    def __init__(self, context: Context, runtime: Runtime) -> None:
        self._context, self._runtime, self._loop = context, runtime, asyncio.get_running_loop()
        self._sending: set[asyncio.Task[None]] = set()

    def report(self, done: float, total: float | None, message: str) -> None:
        """Send, without waiting."""
        self._loop.call_soon_threadsafe(self._send, done, total, message)

    async def sent(self) -> None:
        """Return when all is on its way: after the answer nobody would listen."""
        if self._sending:
            await asyncio.wait(self._sending)

    def _send(self, done: float, total: float | None, message: str) -> None:
        task = self._loop.create_task(
            self._context.session.report_progress(done, total, self._runtime.masked(message) or None)
        )
        self._sending.add(task)
        task.add_done_callback(self._sending.discard)


def _asking(context: Context, runtime: Runtime) -> Approve:
    """Let the client ask its user; one that cannot is refused."""

    async def ask(tool: str, args: Mapping[str, Any]) -> bool:
        capability = types.ClientCapabilities(elicitation=types.ElicitationCapability())
        if not context.session.check_client_capability(capability):
            return False
        schema: Any = {"type": "object", "properties": {"allow": {"type": "boolean"}}, "required": ["allow"]}
        given = await context.session.elicit_form(
            runtime.masked(_question(tool, args)), schema, context.request_id
        )
        return given.action == "accept" and bool((given.content or {}).get("allow"))

    return ask


def _question(tool: str, args: Mapping[str, Any]) -> str:
    """What a person decides on: every argument by its name, long values with a sign that they are longer."""
    lines = [f"- {name}: {cut(pretty(jsonable(value)), LONGEST_VALUE)}" for name, value in args.items()]
    return "\n".join([f"Let the model call {tool}?", *lines])
