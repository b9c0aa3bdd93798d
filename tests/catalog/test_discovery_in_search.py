"""People who search, through REST or the command line, ask the index that models ask."""

from onetool.domain.bundle import Filter
from onetool.testing import memory_runtime


def fetch_page(url: str) -> str:
    """Download a web page and return its text."""
    return url


async def test_a_search_in_other_words_finds_what_a_model_would_find():
    """No word of the query stands in the tool's name, and it is found as `ot.find` finds it."""
    async with memory_runtime(packs={"browser": [fetch_page]}) as ot:
        found = await ot.runtime.bundles.search("retrieve some web text", Filter())
        assert found[0].name == "browser.fetch_page"
        assert len({listed.tool.id for listed in found}) == len(found)
        assert "browser.fetch_page" in (await ot.call("ot.find", query="retrieve some web text")).data


async def test_what_nothing_fits_finds_nothing():
    """A search does not invent."""
    async with memory_runtime() as ot:
        assert await ot.runtime.bundles.search("qqqq zzzz", Filter()) == []
