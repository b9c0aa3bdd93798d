"""`/resources`, `/prompts` and `/complete`: what MCP servers offer besides tools."""

from collections.abc import Callable, Mapping
from typing import Annotated, Any

from fastapi import APIRouter, Depends, Path, Query, Response

from onetool.domain.calls.call import ToolResult
from onetool.domain.calls.caller import Caller
from onetool.domain.calls.effect import Effect
from onetool.domain.errors import ContentNotFound
from onetool.domain.servers.completion import completion_values
from onetool.domain.servers.server_item import ItemKind
from onetool.interfaces.rest.outcome_bodies import outcome_response
from onetool.interfaces.rest.params import (
    MediaFormat,
    PageSize,
    PageToken,
    json_response,
    page_state,
    slice_page,
)
from onetool.interfaces.rest.problems import STATUS_BY_REASON, ProblemError, problem_responses, retry_headers
from onetool.interfaces.rest.schemas.calls import CallResponse
from onetool.interfaces.rest.schemas.contents import (
    CompleteBody,
    CompleteResponse,
    PromptBody,
    PromptMessages,
    PromptPage,
    ResourcePage,
    TemplatePage,
)
from onetool.runtime.runtime import Runtime

from .servers import check_enabled

TextQuery = Annotated[
    str, Query(alias="query", max_length=1_000, description="Only entries that contain this text.")
]
OfServer = Annotated[
    str | None, Query(alias="server", max_length=300, description="Only entries of this server.")
]
ReadUri = Annotated[
    str, Query(max_length=20_000, description="A URI as `/resources` lists it, or from a template.")
]
PromptName = Annotated[
    str, Path(alias="name", max_length=1_000, json_schema_extra={"examples": ["review.summary"]})
]
READ_RESPONSES = problem_responses(404, 409, 429, 502)


def _page_of(
    query: TextQuery = "",
    server: OfServer = None,
    pageSize: PageSize = None,  # noqa: N803
    pageToken: PageToken = None,  # noqa: N803
) -> Callable[[str], dict[str, Any]]:
    """Return a function that gives the page of a list, by its kind."""
    return lambda kind: page_state(pageToken, pageSize, kind=kind, q=query, server=server, after=None)


Listed = Annotated[Callable[[str], dict[str, Any]], Depends(_page_of)]


def content_routes(runtime: Runtime) -> APIRouter:
    """Create the routes for resources and prompts."""
    routes = APIRouter(tags=["resources"])
    lists = _Lists(runtime)

    @routes.get("/resources", response_model=ResourcePage, responses=problem_responses(404, 409))
    async def list_resources(listed: Listed) -> Any:
        """List the resources of MCP servers. Servers that do not respond are omitted."""
        return await lists.page("resource", listed("resources"))

    @routes.get("/resources/templates", response_model=TemplatePage, responses=problem_responses(404, 409))
    async def list_templates(listed: Listed) -> Any:
        """List the templates of URIs of resources."""
        return await lists.page("template", listed("templates"))

    @routes.get("/prompts", response_model=PromptPage, responses=problem_responses(404, 409))
    async def list_prompts(listed: Listed) -> Any:
        """List the prompts of MCP servers."""
        return await lists.page("prompt", listed("prompts"))

    @routes.get("/resources/read", response_model=CallResponse, responses=READ_RESPONSES)
    async def read_resource(uri: ReadUri, media: MediaFormat = "handle") -> Any:
        """Read a resource: a call of `ot.read`. `content` has the texts and media of the resource."""
        result = await _call(runtime, "ot.read", {"uri": uri})
        return await outcome_response(runtime, result, inline=media == "inline")

    @routes.post("/prompts/{name}", response_model=PromptMessages, responses=READ_RESPONSES)
    async def get_prompt(name: PromptName, body: PromptBody | None = None) -> Any:
        """Return the messages of a prompt: a call of `ot.prompt`."""
        arguments = body.arguments if body else {}
        result = await _call(runtime, "ot.prompt", {"name": name, "arguments": arguments})
        messages = await runtime.state.model_output.render_prompt(result)
        return json_response({**messages, "meta": result.to_json()["meta"]})

    @routes.post("/complete", response_model=CompleteResponse, responses=problem_responses(404))
    async def complete_argument(body: CompleteBody) -> Any:
        """Return values for an argument of a prompt or of a template, as its server suggests them."""
        await runtime.reload_if_changed()
        state = runtime.state
        try:
            result = await state.contents.complete(body.model_dump(exclude_none=True), _caller())
        except ContentNotFound as error:
            raise ProblemError(404, str(error)) from None
        values, has_more = completion_values(result)
        return json_response(state.redactor.mask({"values": values, "hasMore": has_more}))

    return routes


class _Lists:
    """Lists the resources, templates or prompts of the servers, with secrets masked."""

    def __init__(self, runtime: Runtime) -> None:
        self._runtime = runtime

    async def page(self, kind: ItemKind, page: dict[str, Any]) -> Response:
        if (server := page["server"]) is not None:
            await check_enabled(self._runtime, server)
        await self._runtime.reload_if_changed()
        state = self._runtime.state
        found = await state.contents.items(kind, _caller(), server)
        items, token = slice_page([item for item in found if item.matches(page["q"])], page)
        body = {page["kind"]: [item.to_view() for item in items], **token}
        return json_response(state.redactor.mask(body))


async def _call(runtime: Runtime, tool: str, args: Mapping[str, Any]) -> ToolResult:
    """Call a tool that reads from a server.

    Raises:
        ProblemError: It failed. A failure of the server has status 502.
    """
    result = await runtime.call_tool(tool, args, _caller(), "rest")
    if result.error is None:
        return result
    status = STATUS_BY_REASON[result.meta.reason] if result.meta.reason else 200
    status = 502 if status == 200 else status
    raise ProblemError(status, result.error.message, headers=retry_headers(result))


def _caller() -> Caller:
    return Caller(interface="rest", default_effect=Effect.ALLOW)
