"""Search for tools: ranking, permissions and changes of the catalog."""

import asyncio

import pytest

from onetool.catalog.catalog import Catalog
from onetool.catalog.tool_search import CatalogSearch
from onetool.domain.bundles.bundle import Bundle, BundleFilter
from onetool.domain.calls.caller import Caller, always_approve
from onetool.domain.tools.help_text import signatures_text
from onetool.domain.tools.registry import Registry
from onetool.domain.tools.tool import ToolSpec
from onetool.sources.snapshot import SnapshotSource, StaticReader
from onetool.testing import function_source, memory_runtime
from onetool.threads import Threads
from support.waiting import until


def read_rain(city: str) -> str:
    """Measure how much it rains in a city."""
    return city


def send_mail(to: str, text: str = "") -> str:
    """Send a letter to a person."""
    return to


PACKS = {"weather": [read_rain], "post": [send_mail]}


async def test_best_match_comes_first():
    """Each match is one line with its signature. Typos in the query are tolerated."""
    async with memory_runtime(PACKS) as ot:
        text = (await ot.call("ot.find", query="how much does it rian in Oslo")).data
        assert (
            text.splitlines()[0]
            == "weather.read_rain(city: str) -> str: Measure how much it rains in a city."
        )
        assert "No matches" in (await ot.call("ot.find", query="zzzzqqq")).data
        run = await ot.run("ot.find(query='letter to a person', limit=1)")
        assert run.data == "post.send_mail(to: str, text: str = '') -> str: Send a letter to a person."
        for limit in (0, 51):
            assert (await ot.call("ot.find", query="x", limit=limit)).meta.exception == "ValueError"


async def test_search_respects_the_allow_list():
    caller = Caller(interface="ask", allowed=frozenset({"ot.find", "post.send_mail"}), approve=always_approve)
    async with memory_runtime(PACKS, caller=caller) as ot:
        assert "weather" not in (await ot.call("ot.find", query="rain in a city, letter", limit=20)).data


async def test_disabled_tool_is_not_found():
    async with memory_runtime(PACKS) as ot:
        assert "weather.read_rain" in (await ot.call("ot.find", query="rain")).data
        page = await ot.runtime.state.bundles.list_bundles(BundleFilter(include_disabled=True), None, 100)
        weather = next(bundle for bundle in page.items if bundle.slug == "weather")
        await ot.runtime.state.bundles.set_bundle_enabled(weather.id, False)
        assert "weather.read_rain" not in (await ot.call("ot.find", query="rain")).data


@pytest.mark.parametrize(("number", "max_bytes", "listed"), [(5, 1200, 5), (50, 1200, 6), (3, 10, 1)])
def test_signatures_stay_within_a_size_limit(number, max_bytes, listed):
    """At least one is listed. A long signature shows only the required parameters."""
    properties = {f"parameter_with_a_long_name_{n}": {"type": "string"} for n in range(20)}
    schema = {"type": "object", "properties": properties, "required": ["parameter_with_a_long_name_3"]}
    specs = [
        ToolSpec(name=f"pack.tool{n}", description="Do it. " * 50, input_schema=schema) for n in range(number)
    ]
    lines = signatures_text(specs, max_bytes).splitlines()
    assert abs(len(lines) - listed) <= 1
    assert lines[0].startswith("pack.tool0(parameter_with_a_long_name_3: str, ...): Do it.")


class SlowSource(SnapshotSource):
    """A source whose listing waits for an event."""

    def __init__(self, *tools):
        super().__init__(StaticReader("slow", Registry()))
        self.continue_listing, self.listings = asyncio.Event(), 0

    async def page(self, cursor, limit):
        self.listings += 1
        await self.continue_listing.wait()
        return await super().page(cursor, limit)


async def test_index_of_a_cancelled_search_is_used_by_the_next():
    source = SlowSource()
    search = CatalogSearch(Catalog([source]), Threads())
    caller = Caller(interface="mcp")
    cancelled = asyncio.create_task(search.find("rain", caller, 5))
    await until(lambda: source.listings)
    cancelled.cancel()
    with pytest.raises(asyncio.CancelledError):
        await cancelled
    source.continue_listing.set()
    assert await asyncio.gather(search.find("rain", caller, 5), search.find("sun", caller, 5)) == [[], []]
    assert source.listings == 1


async def test_two_sources_can_share_a_pack():

    def other() -> str:
        """Do something else."""
        return "other"

    sources = [function_source("weather", [other])]
    async with memory_runtime(PACKS, sources=sources) as ot:
        assert (await ot.call("weather.other")).data == "other"
        assert {spec.name for spec in await ot.runtime.state.catalog.pack("weather")} == {
            "weather.read_rain",
            "weather.other",
        }


async def test_token_savings_are_estimated_once_per_session(monkeypatch):
    """Only the first definitions are measured, and only the last sessions are remembered."""
    monkeypatch.setattr("onetool.pipeline.token_savings.MAX_MEASURED", 2)
    monkeypatch.setattr("onetool.pipeline.token_savings.MAX_SESSIONS", 1)
    async with memory_runtime(PACKS) as ot:
        for session in ("a", "b", "a"):
            await ot.runtime.run("1", Caller(interface="mcp", session=session, approve=always_approve))
        summary = await ot.runtime.recorder.summary()
        assert set(summary.sessions) == {"a", "b"}
        assert min(summary.sessions.values()) > 100


async def test_savings_of_many_definitions_are_extrapolated_from_the_first_ones(monkeypatch):
    estimates = []
    for measured in (500, 3):
        monkeypatch.setattr("onetool.pipeline.token_savings.MAX_MEASURED", measured)
        async with memory_runtime(PACKS) as ot:
            await ot.runtime.run("1", Caller(interface="mcp", session="s", approve=always_approve))
            estimates.append((await ot.runtime.recorder.summary()).sessions["s"])
    exact, extrapolated = estimates
    assert exact / 3 < extrapolated < exact * 3


@pytest.mark.parametrize("invalid", [{"isEnabled": "yes"}, {"slug": 1}, {"createdAt": []}])
def test_bundle_with_wrong_types_is_rejected(invalid):
    with pytest.raises(TypeError):
        Bundle.from_json({"id": "x", "slug": "y", **invalid})
