"""Routes that export bundles and import them from archives and OpenAPI documents."""

from typing import Annotated, Any

from fastapi import APIRouter, Query, Request, Response

from onetool.interfaces.rest.params import BundleID, json_response, upload_schema
from onetool.interfaces.rest.problems import problem_responses
from onetool.interfaces.rest.schemas.bundles import bundle_json
from onetool.interfaces.rest.schemas.transfer import ImportResponse
from onetool.runtime.runtime import Runtime

ZIP = "application/zip"
BINARY = "application/octet-stream"
BaseUrl = Annotated[
    str | None,
    Query(description="Base URL of the API. Overrides the servers of the document."),
]


def transfer_routes(runtime: Runtime) -> APIRouter:
    """Create the routes for import and export."""
    routes = APIRouter(prefix="/tools", tags=["transfer"])

    @routes.get(
        "/bundles/{bundleID}/export",
        response_class=Response,
        responses={200: {"content": {ZIP: {}}, "description": "A ZIP archive"}, **problem_responses(404)},
    )
    async def export_bundle(bundle_id: BundleID) -> Response:
        """Export a bundle with all its tools as a ZIP archive."""
        return Response(await runtime.state.transfer.export(bundle_id), media_type=ZIP)

    @routes.post(
        "/import",
        status_code=201,
        response_model=ImportResponse,
        responses=problem_responses(409),
        openapi_extra=upload_schema(BINARY),
    )
    async def import_archive(request: Request) -> Any:
        """Import a bundle from a ZIP archive. The bundle is disabled."""
        bundle, count = await runtime.state.transfer.import_archive(await request.body())
        return json_response(
            runtime.state.redactor.mask({"bundle": bundle_json(bundle), "tools": count}), 201
        )

    @routes.post(
        "/import/openapi",
        status_code=201,
        response_model=ImportResponse,
        responses=problem_responses(409),
        openapi_extra=upload_schema(BINARY),
    )
    async def import_openapi(request: Request, baseUrl: BaseUrl = None) -> Any:  # noqa: N803
        """Create a bundle from an OpenAPI document in JSON or YAML. The bundle is disabled."""
        imported = await runtime.state.transfer.import_openapi(await request.body(), baseUrl)
        return json_response(
            runtime.state.redactor.mask(imported | {"bundle": bundle_json(imported["bundle"])}), 201
        )

    return routes
