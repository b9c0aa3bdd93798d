"""Bundles and tools that tests write to a store directly."""

from typing import Any

from uuid_utils.compat import uuid7

from onetool.domain.bundles.bundle import Bundle, BundleFilter, StoredTool, ToolVersion, rfc3339
from onetool.ports import BundleStore

EVERYTHING = BundleFilter(include_disabled=True)


def make_bundle(slug: str = "weather", **fields: Any) -> Bundle:
    """Return a new bundle."""
    times = {"created_at": rfc3339(1), "modified_at": rfc3339(1)}
    return Bundle(**{"id": str(uuid7()), "slug": slug} | times | fields)


def new_tool(bundle: Bundle, slug: str = "get-rain", version: str = "v1", **fields: Any) -> ToolVersion:
    """Return a new tool of a bundle."""
    defaults = {"type": "python", "arg_schema": {"type": "object"}, "created_at": rfc3339(2)}
    ids = {"id": str(uuid7()), "bundle_id": bundle.id, "slug": slug, "version": version}
    return ToolVersion(**ids | defaults | fields)


async def new_bundle(store: BundleStore, slug: str = "weather", **fields: Any) -> Bundle:
    """Store a new bundle."""
    new = make_bundle(slug, **fields)
    return await store.change_bundle(new.id, lambda _: new)


async def add(store: BundleStore, bundle: Bundle, *args: str, **fields: Any) -> StoredTool:
    """Store a new tool."""
    return await store.add_tool(new_tool(bundle, *args, **fields), lambda _: None)


async def slugs(store: BundleStore) -> list[str]:
    """Return the slugs of all tools, sorted."""
    return sorted(stored.tool.slug for stored in (await store.tools(EVERYTHING, None, 1000)).items)
