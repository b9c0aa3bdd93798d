"""`/access`: who may call which tool, and which rule decides that."""

from typing import Annotated, Any

from fastapi import APIRouter, Path, Query

from onetool.domain.tools.tool import ToolSpec
from onetool.interfaces.rest.params import PageSize, PageToken, json_response, page_state, slice_page
from onetool.interfaces.rest.problems import ProblemError, problem_responses
from onetool.interfaces.rest.schemas.access import AccessPage, ToolDecisionsResponse
from onetool.runtime.access import access_json, callers, explain
from onetool.runtime.runtime import Runtime
from onetool.runtime.state import State

NameQuery = Annotated[
    str, Query(alias="query", max_length=300, description="Only tools whose name contains this text.")
]
ToolName = Annotated[
    str,
    Path(
        alias="name",
        max_length=300,
        description="A tool, `tool@version` or alias.",
        json_schema_extra={"examples": ["time.now"]},
    ),
]


def access_routes(runtime: Runtime) -> APIRouter:
    """Create the access routes."""
    routes = APIRouter(tags=["access"])

    @routes.get("/access", response_model=AccessPage, responses=problem_responses())
    async def list_access(
        query: NameQuery = "",
        pageSize: PageSize = None,  # noqa: N803
        pageToken: PageToken = None,  # noqa: N803
    ) -> Any:
        """List who may call the tools: `allow`, `ask`, `deny` or `hidden`, with the rules that apply."""
        await runtime.reload_if_changed()
        state = runtime.state
        page = page_state(pageToken, pageSize, kind="access", q=query, after=None)
        found = [tool.spec async for tool in state.catalog.tools(start_servers=False)]
        named = [spec for spec in found if page["q"].casefold() in spec.name.casefold()]
        specs, token = slice_page(named, page)
        tools = [await _tool_json(state, spec, spec.name) for spec in specs]
        body = {"callers": list(callers(state.configuration.settings)), "tools": tools, **token}
        return json_response(state.redactor.mask(body))

    @routes.get("/access/{name}", response_model=ToolDecisionsResponse, responses=problem_responses(404))
    async def get_access(name: ToolName) -> Any:
        """Return who may call a tool, with the rules that apply."""
        await runtime.reload_if_changed()
        state = runtime.state
        tool = await state.catalog.find(name)
        if tool is None:
            raise ProblemError(404, f"Tool {name!r} not found.")
        return json_response(state.redactor.mask(await _tool_json(state, tool.spec, name)))

    return routes


async def _tool_json(state: State, spec: ToolSpec, name: str) -> dict[str, Any]:
    """Return who may call a tool by a name, which may contain its version."""
    decisions = [access_json(access) for access in await explain(state, name)]
    return {"name": spec.name, "readOnly": spec.read_only, "decisions": decisions}
