"""`/access`: who may call which tool, and which rule decides that."""

from contextlib import AbstractContextManager, nullcontext
from typing import Annotated, Any

from fastapi import APIRouter, Path, Query

from onetool.domain.identity.principal import Principal, acting_as, current_principal
from onetool.domain.identity.roles import Right
from onetool.domain.tools.tool import ToolSpec
from onetool.interfaces.rest.params import PageSize, PageToken, json_response, page_state, slice_page
from onetool.interfaces.rest.problems import ProblemError, problem_responses
from onetool.interfaces.rest.request_rights import request_may, request_rights
from onetool.interfaces.rest.schemas.access import AccessPage, ToolDecisionsResponse
from onetool.runtime.access import access_json, callers, explain
from onetool.runtime.runtime import Runtime
from onetool.runtime.state import State

NameQuery = Annotated[
    str, Query(alias="query", max_length=300, description="Only tools whose name contains this text.")
]
MemberQuery = Annotated[
    str,
    Query(max_length=300, description="The id of a person or the name of a service; default: yourself."),
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
        member: MemberQuery = "",
        pageSize: PageSize = None,  # noqa: N803
        pageToken: PageToken = None,  # noqa: N803
    ) -> Any:
        """List who may call the tools: `allow`, `ask`, `deny` or `hidden`, with the rules that apply."""
        await runtime.reload_if_changed()
        state = runtime.state
        page = page_state(pageToken, pageSize, kind="access", q=query, member=member, after=None)
        found = [tool.spec async for tool in state.catalog.tools(start_servers=False)]
        named = [spec for spec in found if page["q"].casefold() in spec.name.casefold()]
        specs, token = slice_page(named, page)
        with _as_member(page["member"]):
            tools = [await _tool_json(state, spec, spec.name) for spec in specs]
        body = {"callers": list(callers(state.configuration.settings)), "tools": tools, **token}
        return json_response(state.redactor.mask(body))

    @routes.get("/access/{name}", response_model=ToolDecisionsResponse, responses=problem_responses(404))
    async def get_access(name: ToolName, member: MemberQuery = "") -> Any:
        """Return who may call a tool, with the rules that apply."""
        await runtime.reload_if_changed()
        state = runtime.state
        tool = await state.catalog.find(name)
        if tool is None:
            raise ProblemError(404, f"Tool {name!r} not found.")
        with _as_member(member):
            body = await _tool_json(state, tool.spec, name)
        return json_response(state.redactor.mask(body))

    return routes


def _as_member(member: str) -> AbstractContextManager[None]:
    """Return a context in which the policy decides about a member; empty: about who makes the request."""
    if not member or member == current_principal().id:
        return nullcontext()
    if request_rights() is None or not request_may(Right.MANAGE):
        raise ProblemError(403, "Only owners of a workspace see what other members may call.")
    return acting_as(Principal(member))


async def _tool_json(state: State, spec: ToolSpec, name: str) -> dict[str, Any]:
    """Return who may call a tool by a name, which may contain its version."""
    decisions = [access_json(access) for access in await explain(state, name)]
    return {"name": spec.name, "readOnly": spec.read_only, "decisions": decisions}
