"""One MCP server as it is: its tools, resources and prompts under their own names.

Policy, overrides, quarantine, approval, masking, limits and recording still apply.
"""

import time
from collections.abc import Mapping
from typing import Any

import mcp_types as types
from mcp import MCPError
from mcp.server.lowlevel.server import Server
from pydantic import ConfigDict

from onetool.domain.calls.call import ToolResult
from onetool.domain.calls.caller import Caller
from onetool.domain.content.content import Content
from onetool.domain.errors import ContentNotFound, ExecutionError
from onetool.domain.servers.catalog_item import CatalogItem
from onetool.domain.servers.uris import namespaced_uri, own_content
from onetool.domain.text.suggestions import did_you_mean
from onetool.domain.tools.tool import Tool
from onetool.runtime.outcomes import Outcome
from onetool.runtime.runtime import CodeResult, Runtime

from .client_calls import ClientCalls
from .contents import CallerOf, ContentHandlers, Context, not_found_code, page_of
from .exposure import ListedTool
from .replies import CallReply, PreparedCall, prepare_call, render_outcome

NOT_PASSED_ON = ("tasks",)
"""Capabilities of servers that do not work through OneTool."""
START_TIMEOUT_S = 55.0
"""Seconds that the first start of a server may take; clients wait about a minute for a handshake."""
SKILL_METHODS = ("skills/list", "skills/get")
LISTS = ("tools", "resources", "prompts")


class ExposeOnly:
    """Exposes the tools of one server under the names that the server gave them."""

    def __init__(self, runtime: Runtime, server: str) -> None:
        self._runtime, self._server = runtime, server

    async def page(self, cursor: str | None, caller: Caller) -> tuple[list[ListedTool], str | None]:
        """Return the tools that the caller may call, as the server defines them."""
        tools = [
            ListedTool(name, tool.spec.description, tool.spec.input_schema, definition=tool.definition)
            for name, tool in (await self._tools(caller)).items()
        ]
        return page_of(tools, cursor)

    async def prepare(self, name: str, args: Mapping[str, Any], caller: Caller) -> PreparedCall:
        """Prepare a call of a tool. The reply is the content as the server sent it.

        Raises:
            MCPError: The server has no such tool.
        """
        tools = await self._tools(caller)
        if name not in tools:
            message = f"Unknown tool: {name!r}.{did_you_mean(name, list(tools))}"
            raise MCPError(types.INVALID_PARAMS, message)
        return prepare_call(self._runtime, tools[name].spec.name, args)

    async def render(self, tool: str, outcome: Outcome) -> CallReply:
        """Return the content as the server sent it.

        Raises:
            MCPError: The server refused the request.
        """
        if isinstance(outcome, CodeResult):
            return await render_outcome(self._runtime, tool, outcome)
        if outcome.content is not None:
            content = own_content(outcome.content, self._server)
            return CallReply(content.text, content.is_error, result=content.to_json())
        message = outcome.error.message if outcome.error else ""
        if (code := getattr(outcome.raised, "rpc_code", None)) is not None:
            raise MCPError(code, message, getattr(outcome.raised, "rpc_data", None))
        return CallReply(message, True)

    async def _tools(self, caller: Caller) -> dict[str, Tool]:
        """Return the enabled tools by the name in their definition."""
        tools = await self._runtime.state.catalog.pack_tools(self._server, caller)
        return {tool.definition["name"]: tool for tool in tools if tool.definition is not None}


class OnlyContents(ContentHandlers):
    """Request handlers for what one server offers besides tools, with the server's own names."""

    keeps_large_media = True

    def __init__(self, runtime: Runtime, caller_of: CallerOf, calls: ClientCalls, server: str) -> None:
        super().__init__(runtime, caller_of, calls, server)
        self._name = server

    def definition(self, item: CatalogItem) -> dict[str, Any]:
        """Return the definition as the server sent it."""
        return dict(item.item.definition)

    def uri(self, uri: str) -> str:
        """Return the namespaced URI."""
        return namespaced_uri(self._name, uri)

    def shown_uri(self, server: str, uri: str) -> str:
        """Return the URI of the server."""
        return uri

    async def prompt_name(self, name: str, caller: Caller) -> str:
        """Return the name of a prompt in the catalog."""
        prompts = await self._runtime.state.contents.items("prompt", caller, self._name)
        found = next((prompt.path for prompt in prompts if prompt.item.key == name), None)
        if found is None:
            suggestion = did_you_mean(name, [prompt.item.key for prompt in prompts])
            raise MCPError(types.INVALID_PARAMS, f"Unknown prompt: {name!r}.{suggestion}")
        return found

    def error(self, result: ToolResult, context: Context) -> MCPError:
        """Return the error of the server as it sent it."""
        cause = result.raised.__cause__ if isinstance(result.raised, ContentNotFound) else None
        if not isinstance(cause, ExecutionError):
            return super().error(result, context)
        message = self._runtime.state.redactor.redact(str(cause))
        return MCPError(not_found_code(context), message, getattr(cause, "rpc_data", None))

    def result(self, content: Content) -> Any:
        """Return content with the server's own URIs."""
        return own_content(content, self._name)


def pass_on_skills(server: Server[Any], runtime: Runtime, name: str) -> None:
    """Pass requests for skills on as they are: clients check the digests of what they get."""

    async def pass_on(context: Context, params: AnyParams) -> dict[str, Any]:
        if runtime.state.catalog.policy.contents_rule(name, Caller(interface="mcp")) is not None:
            raise MCPError(types.INVALID_PARAMS, f"The skills of {name!r} are for callers of all its tools.")
        fields = {key: value for key, value in (context.params or {}).items() if key != "_meta"}
        deadline = time.monotonic() + runtime.state.configuration.settings.execution.timeout_s
        try:
            result = await runtime.state.servers[name].contents.pass_on(context.method, fields, deadline)
        except ExecutionError as error:
            code = getattr(error, "rpc_code", types.INTERNAL_ERROR)
            raise MCPError(code, runtime.state.redactor.redact(str(error))) from error
        masked: dict[str, Any] = runtime.state.redactor.mask(dict(result))
        return masked

    for method in SKILL_METHODS:
        server.add_request_handler(method, AnyParams, pass_on)


class AnyParams(types.RequestParams):
    """Parameters that OneTool does not look at."""

    model_config = ConfigDict(extra="allow")


async def handshake(runtime: Runtime, server: str) -> dict[str, Any]:
    """Return the capabilities and the instructions of a server. Changes of its lists are always reported.

    Raises:
        MCPError: The server was never started before, and cannot be started.
    """
    source = runtime.state.servers[server]
    if source.status().needs_start and not await source.probe(START_TIMEOUT_S):
        reason = source.status().reason or "it does not respond"
        raise MCPError(types.INTERNAL_ERROR, f"Server {server!r} is unavailable: {reason}.")
    declared, review = await source.contents.declared(), await source.instructions()
    capabilities = {key: value for key, value in declared.items() if key not in NOT_PASSED_ON}
    for key in LISTS:
        if isinstance(value := capabilities.get(key), Mapping):
            capabilities[key] = {**value, "listChanged": True}
    fields: dict[str, Any] = {"capabilities": capabilities} if capabilities else {}
    return fields | ({"instructions": review.text} if review.text else {})
