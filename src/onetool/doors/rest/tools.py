"""`/tools/tools` and the versions inside a bundle: create, switch, delete, show, list, search."""

from collections.abc import Sequence
from typing import Annotated, Any

from fastapi import APIRouter, Query, Response

from onetool.domain.bundle import Filter, InvalidBundle, Listed, rfc3339
from onetool.domain.bundle_bodies import Switch, ToolBody
from onetool.domain.page_tokens import LARGEST_PAGE, write_token
from onetool.runtime import Runtime

from .problems import documented
from .queries import (
    BundleID,
    IncludeDisabled,
    PageSize,
    PageToken,
    Slug,
    Version,
    chosen,
    known_ids,
    one_by_one,
    page_state,
    reply,
)
from .shapes import ToolAnswer, ToolPage, tool_json

VERSION = "/tools/bundles/{bundleID}/tools/{toolSlug}/version/{version}"
Tags = Annotated[list[str] | None, Query(description="Any of these; repeated or separated by commas.")]
BundleIds = Annotated[list[str] | None, Query(description="Only of these bundles.")]
Recommended = Annotated[
    int | None, Query(ge=1, le=LARGEST_PAGE, description="About how many; there may be fewer.")
]


def tool_routes(runtime: Runtime) -> APIRouter:
    """Make the routes of tool versions."""
    routes = APIRouter(tags=["tools"])
    view = _View(runtime)

    @routes.put(VERSION, status_code=201, response_model=ToolAnswer, responses=documented(404, 409))
    async def put_tool(bundle_id: BundleID, slug: Slug, version: Version, body: ToolBody) -> Any:
        """Create a version of a tool. It never changes: the same slug and version again is a conflict."""
        return await view.one(await runtime.bundles.put_tool((bundle_id, slug, version), body), 201)

    @routes.patch(VERSION, response_model=ToolAnswer, responses=documented(404, 409))
    async def switch_tool(bundle_id: BundleID, slug: Slug, version: Version, body: Switch) -> Any:
        """Switch a version on or off."""
        return await view.one(await runtime.bundles.switch_tool((bundle_id, slug, version), body.isEnabled))

    @routes.delete(VERSION, status_code=204, responses=documented(404))
    async def delete_tool(bundle_id: BundleID, slug: Slug, version: Version) -> None:
        """Remove a version for good."""
        await runtime.bundles.delete_tool((bundle_id, slug, version))

    @routes.get(VERSION, response_model=ToolAnswer, responses=documented(404))
    async def get_tool(bundle_id: BundleID, slug: Slug, version: Version) -> Any:
        """Show a version with its schemas and how often it was called."""
        return await view.one(await runtime.bundles.tool((bundle_id, slug, version)))

    @routes.get("/tools", response_model=ToolPage, include_in_schema=False)
    @routes.get("/tools/tools", response_model=ToolPage, responses=documented())
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
        filters = {"kind": "tools", "tags": one_by_one(tags), "ids": known_ids(bundleIDs)}
        size = recommendedPageSize or pageSize
        state = page_state(pageToken, size, **filters, off=includeDisabled, after=None)
        wanted = Filter(
            tags=chosen(state["tags"]), bundle_ids=chosen(state["ids"]), include_disabled=state["off"]
        )
        page = await runtime.bundles.list_tools(wanted, state["after"], state["size"])
        return await view.page(page.items, {**state, "after": page.next} if page.next else None)

    @routes.get("/tools/search", response_model=ToolPage, include_in_schema=False)
    @routes.get("/tools/tools/search", response_model=ToolPage, responses=documented())
    async def search_tools(
        q: Annotated[str, Query(max_length=1_000, description="Words, or the beginning of a name.")] = "",
        includeDisabled: IncludeDisabled = False,  # noqa: N803
        pageSize: PageSize = None,  # noqa: N803
        pageToken: PageToken = None,  # noqa: N803
    ) -> Any:
        """Search tools: names that begin so, then whole words, then what looks like it; newest first."""
        filters = {"kind": "search", "q": q, "off": includeDisabled, "from": 0}
        state = page_state(pageToken, pageSize, **filters)
        if not state["q"].strip():
            raise InvalidBundle("q is empty. Example: /tools/tools/search?q=read")
        found = await runtime.bundles.search(state["q"], Filter(include_disabled=state["off"]))
        end = state["from"] + state["size"]
        return await view.page(
            found[state["from"] : end], {**state, "from": end} if end < len(found) else None
        )

    return routes


class _View:
    """Stored tools with what is known beside them, without secrets."""

    def __init__(self, runtime: Runtime) -> None:
        self._runtime = runtime

    async def one(self, listed: Listed, status: int = 200) -> Response:
        return reply((await self._many([listed]))[0], status)

    async def page(self, listed: Sequence[Listed], state: dict[str, Any] | None) -> Response:
        shown: dict[str, Any] = {"toolListItems": await self._many(listed)}
        return reply(shown | ({"nextPageToken": write_token(state)} if state else {}))

    async def _many(self, listed: Sequence[Listed]) -> list[Any]:
        bundles = self._runtime.bundles
        counters = await bundles.counters(listed)
        shown = []
        for one in listed:
            counter = counters.get(one.tool.id)
            last = rfc3339(counter.last_called_at) if counter else None
            shown.append(tool_json(one, counter, await bundles.disabled_reason(one), last))
        masked: list[Any] = self._runtime.masked(shown)
        return masked
