"""`/tools/tools` and the tool versions of a bundle."""

from collections.abc import Sequence
from typing import Annotated, Any

from fastapi import APIRouter, Query, Response

from onetool.domain.bundles.bundle import BundleFilter, InvalidBundle, StoredTool, rfc3339
from onetool.domain.bundles.page_tokens import MAX_PAGE_SIZE, write_token
from onetool.domain.bundles.schemas import EnabledBody, ToolBody
from onetool.interfaces.rest.params import (
    BundleID,
    IncludeDisabled,
    PageSize,
    PageToken,
    Slug,
    Version,
    as_filter,
    json_response,
    page_state,
    parse_bundle_ids,
    split_csv,
)
from onetool.interfaces.rest.problems import problem_responses
from onetool.interfaces.rest.schemas.tools import ToolPage, ToolResponse, tool_json
from onetool.runtime.runtime import Runtime

VERSION_PATH = "/tools/bundles/{bundleID}/tools/{toolSlug}/version/{version}"
Tags = Annotated[
    list[str] | None, Query(description="Only tools with any of these tags (repeated or comma-separated).")
]
BundleIds = Annotated[
    list[str] | None, Query(description="Only tools of these bundles (repeated or comma-separated).")
]
Recommended = Annotated[
    int | None,
    Query(
        ge=1, description=f"Approximate page size; a page may have fewer entries, at most {MAX_PAGE_SIZE}."
    ),
]


def tool_routes(runtime: Runtime) -> APIRouter:
    """Create the tool routes."""
    routes = APIRouter(tags=["tools"])
    view = _ToolView(runtime)

    @routes.put(
        VERSION_PATH, status_code=201, response_model=ToolResponse, responses=problem_responses(404, 409)
    )
    async def put_tool(bundle_id: BundleID, slug: Slug, version: Version, body: ToolBody) -> Any:
        """Create a version of a tool. Versions are immutable: an existing version is a conflict."""
        return await view.respond(await runtime.state.bundles.put_tool((bundle_id, slug, version), body), 201)

    @routes.patch(VERSION_PATH, response_model=ToolResponse, responses=problem_responses(404, 409))
    async def set_tool_enabled(bundle_id: BundleID, slug: Slug, version: Version, body: EnabledBody) -> Any:
        """Enable or disable a version."""
        return await view.respond(
            await runtime.state.bundles.set_tool_enabled((bundle_id, slug, version), body.isEnabled)
        )

    @routes.delete(VERSION_PATH, status_code=204, responses=problem_responses(404))
    async def delete_tool(bundle_id: BundleID, slug: Slug, version: Version) -> None:
        """Delete a version permanently."""
        await runtime.state.bundles.delete_tool((bundle_id, slug, version))

    @routes.get(VERSION_PATH, response_model=ToolResponse, responses=problem_responses(404))
    async def get_tool(bundle_id: BundleID, slug: Slug, version: Version) -> Any:
        """Return a version with its schemas and call count."""
        return await view.respond(await runtime.state.bundles.tool((bundle_id, slug, version)))

    @routes.get("/tools", response_model=ToolPage, responses=problem_responses())
    @routes.get("/tools/tools", response_model=ToolPage, responses=problem_responses())
    async def list_tools(
        *,
        tags: Tags = None,
        bundleIDs: BundleIds = None,  # noqa: N803
        includeDisabled: IncludeDisabled = False,  # noqa: N803
        recommendedPageSize: Recommended = None,  # noqa: N803
        pageSize: Recommended = None,  # noqa: N803
        pageToken: PageToken = None,  # noqa: N803
    ) -> Any:
        """List tools of all bundles."""
        filters = {"kind": "tools", "tags": split_csv(tags), "ids": parse_bundle_ids(bundleIDs)}
        wanted = recommendedPageSize or pageSize
        size = None if wanted is None else min(wanted, MAX_PAGE_SIZE)
        state = page_state(pageToken, size, **filters, off=includeDisabled, after=None)
        criteria = BundleFilter(
            tags=as_filter(state["tags"]), bundle_ids=as_filter(state["ids"]), include_disabled=state["off"]
        )
        page = await runtime.state.bundles.list_tools(criteria, state["after"], state["size"])
        return await view.page(page.items, {**state, "after": page.next} if page.next else None)

    @routes.get("/tools/search", response_model=ToolPage, responses=problem_responses())
    @routes.get("/tools/tools/search", response_model=ToolPage, responses=problem_responses())
    async def search_tools(
        q: Annotated[str, Query(max_length=1_000, description="Words, or the start of a name.")] = "",
        includeDisabled: IncludeDisabled = False,  # noqa: N803
        pageSize: PageSize = None,  # noqa: N803
        pageToken: PageToken = None,  # noqa: N803
    ) -> Any:
        """Search for tools: names that start with `q`, then full-text matches, then similar names.

        Within each group, newest first.
        """
        filters = {"kind": "search", "q": q, "off": includeDisabled, "after": None}
        state = page_state(pageToken, pageSize, **filters)
        if not state["q"].strip():
            raise InvalidBundle("q is empty. Example: /tools/tools/search?q=read")
        criteria = BundleFilter(include_disabled=state["off"])
        page = await runtime.state.bundles.search(state["q"], criteria, state["after"], state["size"])
        return await view.page(page.items, {**state, "after": page.next} if page.next else None)

    return routes


class _ToolView:
    """Builds responses from stored tools with their usage, with secrets masked."""

    def __init__(self, runtime: Runtime) -> None:
        self._runtime = runtime

    async def respond(self, tool: StoredTool, status: int = 200) -> Response:
        return json_response((await self._to_json([tool]))[0], status)

    async def page(self, tools: Sequence[StoredTool], state: dict[str, Any] | None) -> Response:
        body: dict[str, Any] = {"toolListItems": await self._to_json(tools)}
        return json_response(body | ({"nextPageToken": write_token(state)} if state else {}))

    async def _to_json(self, tools: Sequence[StoredTool]) -> list[Any]:
        bundles = self._runtime.state.bundles
        counters = await bundles.counters(tools)
        items = []
        for stored in tools:
            counter = counters.get(stored.tool.id)
            last_called = rfc3339(counter.last_called_at) if counter else None
            items.append(tool_json(stored, counter, await bundles.disabled_reason(stored), last_called))
        masked: list[Any] = self._runtime.state.redactor.mask(items)
        return masked
