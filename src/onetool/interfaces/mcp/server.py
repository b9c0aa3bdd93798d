"""The MCP interface, independent of the transport."""

from collections.abc import Callable
from typing import Any

import mcp_types as types
from mcp.server.context import CallNext, HandlerResult, ServerMiddleware, ServerRequestContext
from mcp.server.lowlevel.server import NotificationOptions, Server
from mcp.server.models import InitializationOptions

from onetool.domain.calls.caller import Caller, ask_user, never_approve
from onetool.domain.calls.effect import Effect
from onetool.domain.identity.principal import acting_as, current_principal
from onetool.domain.servers.instructions import join_instructions
from onetool.network.raw_results import raw_result, send_raw_results, set_raw_fields
from onetool.runtime.runtime import Runtime
from onetool.version import __version__

from .client_calls import ClientCalls, asker_of
from .contents import ContentHandlers
from .exposure import EXPOSURES, Exposure, ListedTool
from .list_snapshot import list_snapshot
from .notices import Notices
from .only import ExposeOnly, OnlyContents, handshake, pass_on_skills
from .operations import measure
from .reporter import Reporter
from .task_notices import TaskNotices
from .tasks import TaskHandlers

INSTRUCTIONS = {
    "run": "OneTool: one tool, `run`, reaches every tool here.",
    "search": "OneTool: find_tools finds what is needed, call_tool calls it.",
    "all": "OneTool: every tool here, by its own name.",
}
HANDSHAKES = ("initialize", "server/discover")
Context = ServerRequestContext[Any, Any]


def create_server(
    runtime: Runtime, expose: str, session: str = "", only: str = "", profile: str = ""
) -> "OneToolServer":
    """Create an MCP server. `expose` is run, search or all.

    session: the id of the only client; empty if the transport tells clients apart.
    only: the name of the one server to pass on as it is; `expose` does not matter then.
    profile: the name of the profile that restricts the clients; empty if none does.
    """

    def caller_of(context: Context, **fields: Any) -> Caller:
        principal = current_principal().with_profile(profile)
        return _caller(runtime, context, session, principal=principal, **fields)

    exposure: Exposure = ExposeOnly(runtime, only) if only else EXPOSURES[expose](runtime)
    calls = ClientCalls(runtime, exposure, names_server=not only)
    contents = (
        OnlyContents(runtime, caller_of, calls, only) if only else ContentHandlers(runtime, caller_of, calls)
    )
    snapshot = list_snapshot(runtime, has_tools=bool(only) or expose == "all", server=only or None)
    notices, tasks = Notices(runtime, snapshot, contents), TaskHandlers(calls, caller_of)

    async def list_tools(
        context: Context, params: types.PaginatedRequestParams | None
    ) -> types.ListToolsResult:
        page, next_cursor = await exposure.page(params.cursor if params else None, caller_of(context))
        redactor = runtime.state.redactor
        set_raw_fields(tools=[redactor.mask(_definition(tool)) | {"name": tool.name} for tool in page])
        return types.ListToolsResult(tools=[], next_cursor=next_cursor)

    async def call_tool(context: Context, params: types.CallToolRequestParams) -> types.CallToolResult:
        reporter = Reporter(context, runtime, notices.allows)
        caller = caller_of(context, on_progress=reporter.report, on_log=reporter.log)
        result = await calls.call(context, params, caller)
        await reporter.wait_until_sent()
        return raw_result(result)

    def instructions() -> str:
        custom = runtime.state.configuration.prompts.instructions.strip()
        return "\n".join(text for text in (INSTRUCTIONS[expose], custom) if text)

    server = OneToolServer(
        runtime,
        notices,
        f"{only or expose} {profile}".rstrip(),
        instructions,
        "onetool",
        version=__version__,
        on_list_tools=list_tools,
        on_call_tool=call_tool,
        on_list_resources=contents.list_resources,
        on_list_resource_templates=contents.list_templates,
        on_read_resource=contents.read_resource,
        on_list_prompts=contents.list_prompts,
        on_get_prompt=contents.get_prompt,
        on_completion=contents.complete,
        on_subscribe_resource=notices.subscribe,
        on_unsubscribe_resource=notices.unsubscribe,
        on_subscriptions_listen=TaskNotices(tasks, notices.listen).listen,
    )
    server.add_request_handler("logging/setLevel", types.SetLevelRequestParams, notices.set_level)
    server.middleware += [_acting_with(profile), measure, notices.middleware]  # inside the span of the SDK
    server.middleware.append(calls.seal(server.endpoint, caller_of))
    tasks.add_to(server)
    send_raw_results(server)
    if only:
        pass_on_skills(server, runtime, only)

    if only or expose == "all":
        server.middleware.append(_handshake_middleware(runtime, only, instructions, caller_of))
    return server


def _acting_with(profile: str) -> ServerMiddleware[Any]:
    """Return a middleware that serves requests as clients that a profile restricts."""

    async def act(ctx: Context, call_next: CallNext) -> HandlerResult:
        with acting_as(current_principal().with_profile(profile)):
            return await call_next(ctx)

    return act


def _handshake_middleware(
    runtime: Runtime, only: str, instructions: Callable[[], str], caller_of: Callable[[Context], Caller]
) -> ServerMiddleware[Any]:
    """Return a middleware that adds what servers declare to the handshake."""

    async def complete(ctx: Context, call_next: CallNext) -> HandlerResult:
        result = await call_next(ctx)
        if ctx.method not in HANDSHAKES or not isinstance(result, dict):
            return result
        if only:
            others = {key: value for key, value in result.items() if key != "instructions"}
            return {**others, **runtime.state.redactor.mask(await handshake(runtime, only))}
        caller, policy = caller_of(ctx), runtime.state.catalog.policy
        found = await runtime.state.servers.instructions()
        visible = [(name, text) for name, text in found if policy.pack_rule(name, caller) is None]
        texts = join_instructions(visible)
        return {**result, "instructions": runtime.state.redactor.redact(f"{instructions()}{texts}")}

    return complete


def _definition(tool: ListedTool) -> dict[str, Any]:
    """Return the definition of an MCP server, or one made from our own."""
    if tool.definition is not None:
        return dict(tool.definition)
    title = {"title": tool.title} if tool.title else {}
    annotations = {
        "readOnlyHint": tool.read_only,
        "destructiveHint": not tool.read_only,
        "openWorldHint": tool.open_world,
    }
    return title | {
        "description": tool.description,
        "inputSchema": dict(tool.input_schema),
        "annotations": annotations,
    }


class OneToolServer(Server[Any]):
    """A server that reads its instructions whenever a client connects, because a reload may change them."""

    def __init__(
        self,
        runtime: Runtime,
        notices: Notices,
        endpoint: str,
        read_instructions: Callable[[], str],
        name: str,
        **options: Any,
    ) -> None:
        super().__init__(name, **options)
        self.runtime, self.notices, self.endpoint = runtime, notices, endpoint
        self._read_instructions = read_instructions

    @property
    def instructions(self) -> str:
        """What the client is told about the server."""
        return self._read_instructions()

    @instructions.setter
    def instructions(self, value: str | None) -> None:
        """Do nothing: the constructor of the superclass sets its argument here."""

    def create_initialization_options(self, *args: Any, **options: Any) -> InitializationOptions:
        """Declare that changed lists are reported. The transports pass no options."""
        return super().create_initialization_options(NotificationOptions(True, True, True))


def _caller(runtime: Runtime, context: Context, session: str, **fields: Any) -> Caller:
    configuration = runtime.state.configuration
    asker, client = asker_of(context).with_roots(configuration.shown_roots), context.session.client_params
    return Caller(
        interface="mcp",
        session=session or _session_id(context),
        client=client.client_info.name if client else "",
        default_effect=Effect[configuration.settings.approval.mcp.upper()],
        approve=ask_user if "form" in asker.kinds else never_approve,
        asker=asker,
        **fields,
    )


def _session_id(context: Context) -> str:
    """Return the session of the transport, or an empty id if there are no sessions."""
    return context.session._connection.session_id or ""
