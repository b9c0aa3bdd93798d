"""Schemas of the bundle routes."""

from typing import Any

from pydantic import BaseModel, Field

from onetool.domain.bundles.bundle import Bundle

from .fields import Flag, ResponseModel


class BundleResponse(ResponseModel):
    """A bundle of tools."""

    id: str = Field(description="Same as `bundleID`.")
    bundleID: str = Field(examples=["0198c5a0-7e4d-7c3a-8a51-1f0e5b2d9c77"])
    slug: str = Field(examples=["weather"])
    displayName: str
    description: str
    isEnabled: Flag
    isBuiltIn: bool
    origin: str = Field(description="`bundle`, `builtin`, `pack`, `config` or `proxy`.", examples=["bundle"])
    createdAt: str = Field(examples=["2026-01-31T12:00:00.000000Z"])
    modifiedAt: str


class BundlePage(BaseModel):
    """A page of bundles."""

    toolBundles: list[BundleResponse]
    nextPageToken: str | None = None


def bundle_json(bundle: Bundle) -> dict[str, Any]:
    """Return the JSON of a bundle for responses."""
    data = {key: value for key, value in bundle.to_json().items() if key != "importedAt"}
    return data | {"bundleID": bundle.id}
