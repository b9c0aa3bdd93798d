"""The MCP interface, independent of the transport."""

import asyncio
from collections.abc import Callable, Mapping
from typing import Any

import mcp_types as types
from mcp.server.context import ServerRequestContext
from mcp.server.lowlevel.server import Server

from onetool.domain.calls.approval_request import ApprovalRequest
from onetool.domain.calls.caller import (
    ApprovalHandler,
    Caller,
    always_approve,
    ignore_progress,
    never_approve,
)
from onetool.runtime.runtime import Runtime
from onetool.version import __version__

from .exposure import EXPOSURES, Exposure

INSTRUCTIONS = {
    "run": "OneTool: one tool, `run`, reaches every tool here.",
    "search": "OneTool: find_tools finds what is needed, call_tool calls it.",
    "all": "OneTool: every tool here, by its own name.",
}
Context = ServerRequestContext[Any, Any]


def create_server(runtime: Runtime, expose: str) -> Server[Any]:
    """Create an MCP server. `expose` is run, search or all."""
    exposure: Exposure = EXPOSURES[expose](runtime)

    async def list_tools(
        context: Context, params: types.PaginatedRequestParams | None
    ) -> types.ListToolsResult:
        page, next_cursor = await exposure.page(params.cursor if params else None, _caller(runtime, context))
        redactor = runtime.state.redactor
        tools = [
            types.Tool(
                name=tool.name,
                description=redactor.redact(tool.description),
                input_schema=redactor.mask(dict(tool.input_schema)),
                annotations=types.ToolAnnotations(
                    read_only_hint=tool.read_only,
                    destructive_hint=not tool.read_only,
                    open_world_hint=tool.open_world,
                ),
            )
            for tool in page
        ]
        return types.ListToolsResult(tools=tools, next_cursor=next_cursor)

    async def call_tool(context: Context, params: types.CallToolRequestParams) -> types.CallToolResult:
        progress = _ProgressReporter(context, runtime)
        reply = await exposure.call(params.name, params.arguments or {}, _caller(runtime, context, progress))
        await progress.wait_until_sent()
        return types.CallToolResult(
            content=[types.TextContent(type="text", text=reply.text)], is_error=reply.is_error
        )

    def instructions() -> str:
        custom = runtime.state.configuration.prompts.instructions.strip()
        return "\n".join(text for text in (INSTRUCTIONS[expose], custom) if text)

    return _OneToolServer(
        instructions, "onetool", version=__version__, on_list_tools=list_tools, on_call_tool=call_tool
    )


class _OneToolServer(Server[Any]):
    """A server that reads its instructions whenever a client connects, because a reload may change them."""

    def __init__(self, read_instructions: Callable[[], str], name: str, **options: Any) -> None:
        super().__init__(name, **options)
        self._read_instructions = read_instructions

    @property
    def instructions(self) -> str:
        return self._read_instructions()

    @instructions.setter
    def instructions(self, value: str | None) -> None:
        """Do nothing: the constructor of the superclass sets its argument here."""


def _caller(runtime: Runtime, context: Context, progress: "_ProgressReporter | None" = None) -> Caller:
    policy = runtime.state.configuration.settings.approval.mcp
    approvals: Mapping[str, ApprovalHandler] = {
        "allow": always_approve,
        "deny": never_approve,
        "ask": _approval_handler(context, runtime),
    }
    on_progress = progress.report if progress else ignore_progress
    return Caller(
        interface="mcp", session=_session_id(context), approve=approvals[policy], on_progress=on_progress
    )


def _session_id(context: Context) -> str:
    """Return the session of the transport, or an empty id for stdio, where the process is the session."""
    headers = getattr(context.request, "headers", None)
    return headers.get("mcp-session-id", "") if headers is not None else ""


class _ProgressReporter:
    """Forwards progress to the client. Tools may report it from any thread."""

    def __init__(self, context: Context, runtime: Runtime) -> None:
        self._context, self._runtime, self._loop = context, runtime, asyncio.get_running_loop()
        self._tasks: set[asyncio.Task[None]] = set()

    def report(self, done: float, total: float | None, message: str) -> None:
        """Send progress without waiting."""
        self._loop.call_soon_threadsafe(self._send, done, total, message)

    async def wait_until_sent(self) -> None:
        """Wait until all progress is sent. Clients ignore progress that arrives after the result."""
        if self._tasks:
            await asyncio.wait(self._tasks)

    def _send(self, done: float, total: float | None, message: str) -> None:
        task = self._loop.create_task(
            self._context.session.report_progress(
                done, total, self._runtime.state.redactor.mask(message) or None
            )
        )
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)


def _approval_handler(context: Context, runtime: Runtime) -> ApprovalHandler:
    """Return a handler that asks the user through the client. Denies if the client cannot ask."""

    async def ask(request: ApprovalRequest) -> bool:
        capability = types.ClientCapabilities(elicitation=types.ElicitationCapability())
        if not context.session.check_client_capability(capability):
            return False
        text, has_more = request.text(), request.hides_something
        while True:
            response = await context.session.elicit_form(
                f"Allow the model to call {request.tool}?\n{text}",
                _approval_form(has_more),
                context.request_id,
            )
            content = (response.content or {}) if response.action == "accept" else {}
            if not (has_more and content.get("show_everything")):
                return content.get("allow") is True
            text, has_more = await runtime.threads.run(request.complete_text), False

    return ask


def _approval_form(has_more: bool) -> Any:
    allow = {"type": "boolean", "title": "Allow this call"}
    show = {"type": "boolean", "title": "Show the hidden characters and ask again", "default": False}
    properties = {"allow": allow} | ({"show_everything": show} if has_more else {})
    return {"type": "object", "properties": properties, "required": ["allow"]}
