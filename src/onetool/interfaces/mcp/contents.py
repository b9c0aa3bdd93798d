"""Resources, templates, prompts and completion for MCP clients: those of all servers, and stored media."""

import base64
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Protocol, TypeVar

import mcp_types as types
from mcp import MCPError
from mcp.server.context import ServerRequestContext
from mcp_types.version import MODERN_PROTOCOL_VERSIONS

from onetool.domain.calls.call import ToolResult
from onetool.domain.calls.caller import Caller
from onetool.domain.content.content import Content
from onetool.domain.content.media import RESULT_URI
from onetool.domain.content.resources import PromptContent, ResourceContent
from onetool.domain.errors import ContentNotFound, ExecutionError
from onetool.domain.jobs.job import Job
from onetool.domain.servers.catalog_item import CatalogItem
from onetool.domain.servers.server_item import ItemKind
from onetool.domain.servers.uris import namespaced_uri, split_uri
from onetool.network.raw_results import set_raw_fields, set_raw_result
from onetool.runtime.runtime import Runtime

from .client_calls import ClientCalls
from .replies import prepare_call, stored_if_large

RESOURCE_NOT_FOUND = -32002
"""Code of earlier versions of the protocol. Later ones use that of invalid parameters."""
PAGE_SIZE = 200
Context = ServerRequestContext[Any, Any]
Paging = types.PaginatedRequestParams | None
CallerOf = Callable[[Context], Caller]
Listener = Callable[[str], None]
T = TypeVar("T")


class UpdateSource(Protocol):
    """A server that reports updates of its resources to listeners."""

    async def unsubscribe(self, uri: str, listener: Listener) -> None:
        """Stop to call a listener."""
        ...


@dataclass(slots=True)
class ObservedResource:
    """A resource whose updates a client receives."""

    uri: str
    """The namespaced URI."""
    own_uri: str
    report: Listener
    caller: Caller
    source: UpdateSource | None
    """Which of the sources with the server's name reports updates; None if there is no such server."""

    async def end(self, source: UpdateSource | None) -> None:
        """Stop the reports of a source."""
        if source is not None:
            await source.unsubscribe(self.own_uri, self.report)


class ContentHandlers:
    """Request handlers for what servers offer besides tools. Reads are calls of the pipeline."""

    keeps_large_media = False
    """Whether media are sent however large they are."""

    def __init__(
        self, runtime: Runtime, caller_of: CallerOf, calls: ClientCalls, server: str | None = None
    ) -> None:
        """server: the only server whose items are listed."""
        self._runtime, self._caller_of, self._calls, self._server = runtime, caller_of, calls, server
        self._observed: dict[tuple[str, Listener], ObservedResource] = {}
        """By the URI that the client knows and its listener."""

    def definition(self, item: CatalogItem) -> dict[str, Any]:
        """Return the definition of an item as clients see it."""
        return item.to_json()

    def uri(self, uri: str) -> str:
        """Return the namespaced URI of one that a client sent."""
        return uri

    def shown_uri(self, server: str, uri: str) -> str:
        """Return the URI of a server as clients see it."""
        return namespaced_uri(server, uri)

    async def prompt_name(self, name: str, caller: Caller) -> str:
        """Return the name of a prompt in the catalog."""
        return name

    def error(self, result: ToolResult, context: Context) -> MCPError:
        """Return the error of a failed read."""
        return call_error(result, context)

    def result(self, content: Content) -> Any:
        """Return content as clients see it."""
        return content

    async def list_resources(self, context: Context, params: Paging) -> types.ListResourcesResult:
        """Return a page of resources. Stored media are not listed: results link to them."""
        resources, cursor = await self._page("resource", context, params)
        set_raw_fields(resources=resources)
        return types.ListResourcesResult(resources=[], next_cursor=cursor)

    async def list_templates(self, context: Context, params: Paging) -> types.ListResourceTemplatesResult:
        """Return a page of resource templates."""
        templates, cursor = await self._page("template", context, params)
        set_raw_fields(resourceTemplates=templates)
        return types.ListResourceTemplatesResult(resource_templates=[], next_cursor=cursor)

    async def list_prompts(self, context: Context, params: Paging) -> types.ListPromptsResult:
        """Return a page of prompts."""
        prompts, cursor = await self._page("prompt", context, params)
        set_raw_fields(prompts=prompts)
        return types.ListPromptsResult(prompts=[], next_cursor=cursor)

    async def read_resource(
        self, context: Context, params: types.ReadResourceRequestParams
    ) -> types.ReadResourceResult:
        """Return the content of a resource or of stored media.

        Raises:
            MCPError: There is none under this URI, or it cannot be read.
        """
        uri = str(params.uri)
        if uri.startswith(RESULT_URI):
            set_raw_result({"contents": [await self._stored_media(uri, context)]})
        else:
            content = await self._content("ot.read", {"uri": self.uri(uri)}, context, ResourceContent)
            if content is not None and not self.keeps_large_media:
                content = await stored_if_large(self._runtime, content, "ot.read")
            if content is not None:
                set_raw_result(content.to_result())
        return types.ReadResourceResult(contents=[])

    async def get_prompt(
        self, context: Context, params: types.GetPromptRequestParams
    ) -> types.GetPromptResult:
        """Return the messages of a prompt.

        Raises:
            MCPError: There is no such prompt, or it is quarantined.
        """
        name = await self.prompt_name(params.name, self._caller_of(context))
        args = {"name": name, "arguments": params.arguments or {}}
        content = await self._content("ot.prompt", args, context, PromptContent)
        if content is not None:
            set_raw_result(content.to_result())
        return types.GetPromptResult(messages=[])

    async def complete(self, context: Context, params: types.CompleteRequestParams) -> types.CompleteResult:
        """Return values for an argument of a prompt or a template.

        Raises:
            MCPError: The prompt does not exist, or the URI names no server.
        """
        fields = params.model_dump(by_alias=True, mode="json", exclude_none=True)
        fields.pop("_meta", None)
        caller, ref = self._caller_of(context), fields["ref"]
        if ref["type"] == "ref/prompt":
            fields["ref"] = {**ref, "name": await self.prompt_name(ref["name"], caller)}
        else:
            fields["ref"] = {**ref, "uri": self.uri(ref["uri"])}
        try:
            set_raw_result(await self._runtime.state.contents.complete(fields, caller))
        except ContentNotFound as error:
            raise MCPError(types.INVALID_PARAMS, str(error)) from error
        return types.CompleteResult(completion=types.Completion(values=[]))

    async def subscribe(self, uri: str, listener: Listener, context: Context) -> None:
        """Call a listener with the URI that the client knows whenever a resource was updated.

        Raises:
            MCPError: There is no such resource, or it cannot be observed.
        """
        namespaced = self.uri(uri)
        server, own_uri = split_uri(namespaced, self._runtime.state.servers) or ("", uri)

        def report(own: str) -> None:
            listener(self.shown_uri(server, own))

        caller, source = self._caller_of(context), self._source(namespaced)
        try:
            await self._runtime.state.contents.subscribe(namespaced, report, caller)
        except ContentNotFound as error:
            raise MCPError(not_found_code(context), str(error)) from error
        except ExecutionError as error:
            code = getattr(error, "rpc_code", types.INTERNAL_ERROR)
            raise MCPError(code, self._runtime.state.redactor.redact(str(error))) from error
        self._observed[uri, listener] = ObservedResource(namespaced, own_uri, report, caller, source)

    async def unsubscribe(self, uri: str, listener: Listener) -> None:
        """Stop to call a listener."""
        if observed := self._observed.pop((uri, listener), None):
            await observed.end(observed.source)

    async def renew_subscriptions(self) -> None:
        """Subscribe at the servers that a reload has put in place of others."""
        for key, observed in list(self._observed.items()):
            before, source = observed.source, self._source(observed.uri)
            if source is before:
                continue
            observed.source = source
            with suppress(ContentNotFound, ExecutionError):  # the client was not promised any update
                await self._runtime.state.contents.subscribe(observed.uri, observed.report, observed.caller)
            await observed.end(before)
            if key not in self._observed:  # the client left meanwhile
                await observed.end(source)

    def _source(self, uri: str) -> UpdateSource | None:
        servers = self._runtime.state.servers
        found = split_uri(uri, servers)
        return servers[found[0]].contents if found else None

    async def set_log_level(self, level: str) -> None:
        """Tell running servers what to log."""
        await self._runtime.state.contents.set_log_level(level, self._server)

    async def _page(
        self, kind: ItemKind, context: Context, params: Paging
    ) -> tuple[list[dict[str, Any]], str | None]:
        items = await self._runtime.state.contents.items(kind, self._caller_of(context), self._server)
        return page_of([self.definition(item) for item in items], params.cursor if params else None)

    async def _content(
        self, tool: str, args: Mapping[str, Any], context: Context, kind: type[Content]
    ) -> Any:
        """Return the content of a call; None if the call has asked, which is then the result."""
        prepared = prepare_call(self._runtime, tool, args)
        outcome = await self._calls.run(context, prepared, self._caller_of(context))
        if isinstance(outcome, Job):
            set_raw_result(self._calls.unfinished(outcome, prepared))
            return None
        if isinstance(outcome, ToolResult) and isinstance(outcome.content, kind):
            return self.result(outcome.content)
        raise self.error(outcome, context)  # type: ignore[arg-type]

    async def _stored_media(self, uri: str, context: Context) -> dict[str, Any]:
        handle, reader = uri.removeprefix(RESULT_URI).removesuffix("/"), self._caller_of(context).principal
        media = await self._runtime.state.results.media(handle, reader=reader.scope)
        if media is None:
            message = f"Resource not found: {uri!r}. Stored results expire; call the tool again."
            raise MCPError(not_found_code(context), message)
        blob = await self._runtime.threads.run(lambda: base64.b64encode(media.to_bytes()).decode())
        return {"uri": uri, "mimeType": media.mime_type, "blob": blob}


def page_of(items: Sequence[T], cursor: str | None, size: int = PAGE_SIZE) -> tuple[list[T], str | None]:
    """Return a page of a list and the cursor of the next one.

    Raises:
        MCPError: The cursor is invalid.
    """
    start = cursor or "0"
    if not start.isascii() or not start.isdigit():
        raise MCPError(types.INVALID_PARAMS, f"Invalid cursor {start!r}. Use nextCursor of the last page.")
    end = int(start) + size
    return list(items[int(start) : end]), str(end) if end < len(items) else None


def call_error(result: ToolResult, context: Context) -> MCPError:
    """Return the error of the protocol for a failed read: the code of the server, if it refused."""
    message = result.error.message if result.error else "The content cannot be read."
    if isinstance(result.raised, ContentNotFound):
        return MCPError(not_found_code(context), message)
    code = getattr(result.raised, "rpc_code", types.INTERNAL_ERROR)
    return MCPError(code, message, getattr(result.raised, "rpc_data", None))


def not_found_code(context: Context) -> int:
    """Return the code for an unknown resource in the client's version of the protocol."""
    is_modern = context.protocol_version in MODERN_PROTOCOL_VERSIONS
    return types.INVALID_PARAMS if is_modern else RESOURCE_NOT_FOUND
