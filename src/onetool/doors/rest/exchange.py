"""Bundles in and out: ZIP archives, and descriptions of APIs."""

from typing import Annotated, Any

from fastapi import APIRouter, Query, Request, Response

from onetool.runtime import Runtime

from .problems import documented
from .queries import BundleID, reply, upload
from .shapes import Imported, bundle_json

ZIP = "application/zip"
BINARY = "application/octet-stream"
BaseUrl = Annotated[
    str | None,
    Query(description="Where the API lies, if the description does not say so or says it wrongly."),
]


def exchange_routes(runtime: Runtime) -> APIRouter:
    """Make the routes that export and import."""
    routes = APIRouter(prefix="/tools", tags=["exchange"])

    @routes.get(
        "/bundles/{bundleID}/export",
        response_class=Response,
        responses={200: {"content": {ZIP: {}}, "description": "A ZIP archive"}, **documented(404)},
    )
    async def export(bundle_id: BundleID) -> Response:
        """Export a bundle with all its tools."""
        return Response(await runtime.exchange.export(bundle_id), media_type=ZIP)

    @routes.post(
        "/import",
        status_code=201,
        response_model=Imported,
        responses=documented(409),
        openapi_extra=upload(BINARY),
    )
    async def import_archive(request: Request) -> Any:
        """Import what was exported; it stays switched off until you switch it on."""
        bundle, number = await runtime.exchange.import_archive(await request.body())
        return reply(runtime.masked({"bundle": bundle_json(bundle), "tools": number}), 201)

    @routes.post(
        "/import/openapi",
        status_code=201,
        response_model=Imported,
        responses=documented(409),
        openapi_extra=upload(BINARY),
    )
    async def import_openapi(request: Request, baseUrl: BaseUrl = None) -> Any:  # noqa: N803
        """Turn an OpenAPI description, as JSON or YAML, into a bundle; it stays switched off."""
        imported = await runtime.exchange.import_openapi(await request.body(), baseUrl)
        return reply(runtime.masked(imported | {"bundle": bundle_json(imported["bundle"])}), 201)

    return routes
