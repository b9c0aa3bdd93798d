"""Packs as bundles: they are listed again only when a pack or a flag has changed."""

import pytest

from onetool.bundles.virtual import VirtualBundles
from onetool.domain.bundles.bundle import BundleFilter
from onetool.domain.bundles.pack_views import tool_id_of
from onetool.domain.tools.tool import ToolSpec
from onetool.storage.memory.toggles import MemoryToggles


class Packs:
    """Packs that a test changes, with the number of times they were listed."""

    def __init__(self):
        self.specs = {"demo": [ToolSpec(name="demo.a", description="", input_schema={})]}
        self.number, self.listings = 0, 0

    async def list(self):
        self.listings += 1
        return self.specs

    async def names(self):
        return set(self.specs)

    async def generation(self):
        return self.number


async def test_packs_are_listed_once_per_change():
    """Searches, pages and look-ups in between use the same list."""
    packs, toggles = Packs(), MemoryToggles()
    virtual = VirtualBundles(packs.list, packs.names, packs.generation, toggles)
    assert [bundle.slug for bundle in (await virtual.bundles()).values()] == ["demo"]
    assert [stored.is_enabled for stored in await virtual.tools()] == [True]
    assert packs.listings == 1

    await virtual.set_enabled(tool_id_of("demo.a"), False)
    assert [stored.is_enabled for stored in await virtual.tools()] == [False]
    assert packs.listings == 2

    packs.specs, packs.number = {}, 1
    assert await virtual.bundles() == {}
    assert packs.listings == 3


async def test_only_the_name_of_a_pack_lists_packs():
    """A listing may start servers, and takes as long as they do."""
    packs = Packs()
    virtual = VirtualBundles(packs.list, packs.names, packs.generation, MemoryToggles())
    stored = "0198c5a0-7e4d-7c3a-8a51-1f0e5b2d9c77"
    assert await virtual.named("weather") == []
    assert await virtual.find(stored) is None
    assert await virtual.tool((stored, "now", "v1")) is None
    assert packs.listings == 0
    (demo,) = await virtual.named("demo")
    assert await virtual.find(demo.id) == demo
    assert await virtual.named(demo.id) == [demo]
    assert packs.listings == 1


@pytest.mark.parametrize(
    ("tags", "is_listed"), [({"home"}, True), ({"HOME"}, False), ({"hom"}, False), ({"x", "home"}, True)]
)
async def test_tags_of_packs_are_compared_as_those_of_stored_tools(tags, is_listed):
    """Any of them, in the same case."""
    packs = Packs()
    packs.specs = {"demo": [ToolSpec(name="demo.a", description="", input_schema={}, tags=("home",))]}
    virtual = VirtualBundles(packs.list, packs.names, packs.generation, MemoryToggles())
    (tool,) = await virtual.tools()
    assert BundleFilter(tags=frozenset(tags)).matches(tool) is is_listed
