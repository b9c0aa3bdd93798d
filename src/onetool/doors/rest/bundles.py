"""`/tools/bundles`: create, replace, switch, delete, list."""

from typing import Annotated, Any

from fastapi import APIRouter, Query

from onetool.domain.bundle import Filter
from onetool.domain.bundle_bodies import BundleBody, Switch
from onetool.domain.page_tokens import write_token
from onetool.runtime import Runtime

from .problems import documented
from .queries import BundleID, IncludeDisabled, PageSize, PageToken, chosen, known_ids, page_state, reply
from .shapes import BundleAnswer, BundlePage, bundle_json

BundleIds = Annotated[list[str] | None, Query(description="Only these; repeated or separated by commas.")]


def bundle_routes(runtime: Runtime) -> APIRouter:
    """Make the routes of bundles."""
    routes = APIRouter(prefix="/tools/bundles", tags=["bundles"])

    @routes.put(
        "/{bundleID}",
        response_model=BundleAnswer,
        responses={201: {"model": BundleAnswer, "description": "Created"}, **documented()},
    )
    async def put_bundle(bundle_id: BundleID, body: BundleBody) -> Any:
        """Create a bundle, or replace it: `createdAt` stays, and a deleted one comes back."""
        bundle, is_new = await runtime.bundles.put_bundle(bundle_id, body)
        return reply(runtime.masked(bundle_json(bundle)), 201 if is_new else 200)

    @routes.patch("/{bundleID}", response_model=BundleAnswer, responses=documented(404))
    async def switch_bundle(bundle_id: BundleID, body: Switch) -> Any:
        """Switch a bundle on or off, with all its tools; their own switches stay as they are."""
        bundle = await runtime.bundles.switch_bundle(bundle_id, body.isEnabled)
        return reply(runtime.masked(bundle_json(bundle)))

    @routes.delete("/{bundleID}", status_code=204, responses=documented(404))
    async def delete_bundle(bundle_id: BundleID) -> None:
        """Delete a bundle: it vanishes at once, and is removed for good after two days if it is empty."""
        await runtime.bundles.delete_bundle(bundle_id)

    @routes.get("", response_model=BundlePage, response_model_exclude_none=True, responses=documented())
    async def list_bundles(
        bundleIDs: BundleIds = None,  # noqa: N803
        includeDisabled: IncludeDisabled = False,  # noqa: N803
        pageSize: PageSize = None,  # noqa: N803
        pageToken: PageToken = None,  # noqa: N803
    ) -> Any:
        """List bundles, packs that are not stored here among them."""
        filters = {"kind": "bundles", "ids": known_ids(bundleIDs), "off": includeDisabled, "after": None}
        state = page_state(pageToken, pageSize, **filters)
        wanted = Filter(bundle_ids=chosen(state["ids"]), include_disabled=state["off"])
        page = await runtime.bundles.list_bundles(wanted, state["after"], state["size"])
        shown: dict[str, Any] = {"toolBundles": [bundle_json(bundle) for bundle in page.items]}
        if page.next:
            shown["nextPageToken"] = write_token({**state, "after": page.next})
        return reply(runtime.masked(shown))

    return routes
