"""People who search, through REST or the command line, ask the index that models ask."""

from onetool.domain.bundle import Filter
from onetool.testing import memory_runtime


def book(hotel: str) -> str:
    """Reserve a room for a night."""
    return hotel


async def test_a_search_in_other_words_finds_what_a_model_would_find():
    """No word of the query stands in the tool's name, and it is found as `ot.find` finds it."""
    async with memory_runtime(packs={"travel": [book]}) as ot:
        found = await ot.runtime.bundles.search("I need rooms tonight", Filter())
        assert found[0].name == "travel.book"
        assert len({listed.tool.id for listed in found}) == len(found)
        assert "travel.book" in (await ot.call("ot.find", query="I need rooms tonight")).data


async def test_what_nothing_fits_finds_nothing():
    """A search does not invent."""
    async with memory_runtime() as ot:
        assert await ot.runtime.bundles.search("qqqq zzzz", Filter()) == []


async def test_of_very_many_tools_only_the_words_are_looked_for(monkeypatch):
    """An index of a hundred thousand tools is not made for one search."""
    monkeypatch.setattr("onetool.catalog.discovery.MOST_SEARCHED", 0)
    async with memory_runtime(packs={"travel": [book]}) as ot:
        assert await ot.runtime.bundles.search("I need rooms tonight", Filter()) == []
