"""The bundle search, for REST and the command line, uses the same index as `ot.find`."""

from onetool.domain.bundles.bundle import BundleFilter
from onetool.testing import memory_runtime


def book(hotel: str) -> str:
    """Reserve a room for a night."""
    return hotel


async def search(ot, query: str):
    return (await ot.runtime.state.bundles.search(query, BundleFilter(), None, 100)).items


async def test_search_finds_a_tool_by_its_description():
    """No word of the query is in the tool's name."""
    async with memory_runtime(packs={"travel": [book]}) as ot:
        matches = await search(ot, "I need rooms tonight")
        assert matches[0].name == "travel.book"
        assert len({match.tool.id for match in matches}) == len(matches)
        assert "travel.book" in (await ot.call("ot.find", query="I need rooms tonight")).data


async def test_search_without_a_match_is_empty():
    async with memory_runtime() as ot:
        assert await search(ot, "qqqq zzzz") == []
