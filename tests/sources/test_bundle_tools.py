"""Stored tools as a source of the catalog: when the store is asked for the names of packs."""

from uuid_utils.compat import uuid7

from onetool.domain.bundles.bundle import Bundle, ToolVersion, rfc3339
from onetool.sources.bundle_tools import MAX_AGE_S, BundleToolSource
from onetool.storage.memory.bundles import MemoryBundles


class CountedBundles(MemoryBundles):
    """Counts how often the names of packs are read."""

    reads = 0

    async def packs(self):
        self.reads += 1
        return await super().packs()


async def add_pack(store: MemoryBundles, slug: str) -> None:
    bundle = Bundle(id=str(uuid7()), slug=slug, created_at=rfc3339(1), modified_at=rfc3339(1))
    await store.change_bundle(bundle.id, lambda _: bundle)
    schema = {"type": "object"}
    tool = ToolVersion(
        id=str(uuid7()), bundle_id=bundle.id, slug="rain", version="v1", type="python", arg_schema=schema
    )
    await store.add_tool(tool, lambda _: None)


async def test_names_of_packs_are_read_after_a_change_or_a_while():
    store, now = CountedBundles(), [0.0]
    source = BundleToolSource(store, lambda tool: None, clock=lambda: now[0])
    await add_pack(store, "weather")
    assert await source.packs() == {"weather"}
    assert [tool.spec.name for tool in await source.pack("weather")] == ["weather.rain"]
    assert await source.pack("other") == []
    assert store.reads == 1
    await add_pack(store, "other")
    assert [tool.spec.name for tool in await source.pack("other")] == ["other.rain"]
    assert await source.packs() == {"weather", "other"}
    assert store.reads == 2
    now[0] = MAX_AGE_S
    assert await source.packs() == {"weather", "other"}
    assert store.reads == 3
