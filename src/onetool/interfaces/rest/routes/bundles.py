"""`/tools/bundles`: create, replace, enable, delete and list bundles."""

from typing import Annotated, Any

from fastapi import APIRouter, Query

from onetool.domain.bundles.bundle import BundleFilter
from onetool.domain.bundles.page_tokens import write_token
from onetool.domain.bundles.schemas import BundleBody, EnabledBody
from onetool.interfaces.rest.params import (
    BundleID,
    IncludeDisabled,
    PageSize,
    PageToken,
    as_filter,
    json_response,
    page_state,
    parse_bundle_ids,
)
from onetool.interfaces.rest.problems import problem_responses
from onetool.interfaces.rest.schemas.bundles import BundlePage, BundleResponse, bundle_json
from onetool.runtime.runtime import Runtime

BundleIds = Annotated[
    list[str] | None, Query(description="Only these bundles (repeated or comma-separated).")
]


def bundle_routes(runtime: Runtime) -> APIRouter:
    """Create the bundle routes."""
    routes = APIRouter(prefix="/tools/bundles", tags=["bundles"])

    @routes.put(
        "/{bundleID}",
        response_model=BundleResponse,
        responses={201: {"model": BundleResponse, "description": "Created"}, **problem_responses()},
    )
    async def put_bundle(bundle_id: BundleID, body: BundleBody) -> Any:
        """Create or replace a bundle. `createdAt` is retained; a deleted bundle is restored."""
        bundle, is_new = await runtime.state.bundles.put_bundle(bundle_id, body)
        return json_response(runtime.state.redactor.mask(bundle_json(bundle)), 201 if is_new else 200)

    @routes.patch("/{bundleID}", response_model=BundleResponse, responses=problem_responses(404))
    async def set_bundle_enabled(bundle_id: BundleID, body: EnabledBody) -> Any:
        """Enable or disable a bundle with all its tools. `isEnabled` of the tools does not change."""
        bundle = await runtime.state.bundles.set_bundle_enabled(bundle_id, body.isEnabled)
        return json_response(runtime.state.redactor.mask(bundle_json(bundle)))

    @routes.delete("/{bundleID}", status_code=204, responses=problem_responses(404))
    async def delete_bundle(bundle_id: BundleID) -> None:
        """Delete a bundle. An empty bundle is removed permanently after two days."""
        await runtime.state.bundles.delete_bundle(bundle_id)

    @routes.get(
        "", response_model=BundlePage, response_model_exclude_none=True, responses=problem_responses()
    )
    async def list_bundles(
        bundleIDs: BundleIds = None,  # noqa: N803
        includeDisabled: IncludeDisabled = False,  # noqa: N803
        pageSize: PageSize = None,  # noqa: N803
        pageToken: PageToken = None,  # noqa: N803
    ) -> Any:
        """List bundles, including packs."""
        filters = {
            "kind": "bundles",
            "ids": parse_bundle_ids(bundleIDs),
            "off": includeDisabled,
            "after": None,
        }
        state = page_state(pageToken, pageSize, **filters)
        criteria = BundleFilter(bundle_ids=as_filter(state["ids"]), include_disabled=state["off"])
        page = await runtime.state.bundles.list_bundles(criteria, state["after"], state["size"])
        body: dict[str, Any] = {"toolBundles": [bundle_json(bundle) for bundle in page.items]}
        if page.next:
            body["nextPageToken"] = write_token({**state, "after": page.next})
        return json_response(runtime.state.redactor.mask(body))

    return routes
