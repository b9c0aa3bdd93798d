"""Which tools fit a question, for whom, and at which moment."""

import asyncio

import pytest

from onetool.catalog.catalog import Catalog
from onetool.catalog.discovery import Discovery
from onetool.domain.bundle import Bundle, Filter
from onetool.domain.caller import Caller, grant
from onetool.domain.help_text import found_text
from onetool.domain.registry import Registry
from onetool.domain.tool import ToolSpec
from onetool.sources.snapshot import Fixed, Snapshot
from onetool.testing import function_source, memory_runtime
from onetool.threads import Threads


def read_rain(city: str) -> str:
    """Tell how much it rains in a city."""
    return city


def send_mail(to: str, text: str = "") -> str:
    """Send a letter to somebody."""
    return to


PACKS = {"weather": [read_rain], "post": [send_mail]}


async def test_the_tool_that_fits_comes_first():
    """By words of its own description, typos forgiven; as a signature with one line."""
    async with memory_runtime(PACKS) as ot:
        text = (await ot.call("ot.find", query="how much does it rian in Oslo")).data
        assert (
            text.splitlines()[0] == "weather.read_rain(city: str) -> str: Tell how much it rains in a city."
        )
        assert "No matches" in (await ot.call("ot.find", query="zzzzqqq")).data
        run = await ot.run("ot.find(query='letter to somebody', limit=1)")
        assert run.data == "post.send_mail(to: str, text: str = '') -> str: Send a letter to somebody."
        for limit in (0, 51):
            assert (await ot.call("ot.find", query="x", limit=limit)).meta.exception == "ValueError"


async def test_only_what_the_caller_may_call_is_found():
    """An allow-list holds for finding as it does for calling."""
    caller = Caller(door="ask", allowed=frozenset({"ot.find", "post.send_mail"}), approve=grant)
    async with memory_runtime(PACKS, caller=caller) as ot:
        assert "weather" not in (await ot.call("ot.find", query="rain in a city, letter", limit=20)).data


async def test_a_tool_that_is_switched_off_is_not_found():
    """The index follows every change."""
    async with memory_runtime(PACKS) as ot:
        assert "weather.read_rain" in (await ot.call("ot.find", query="rain")).data
        page = await ot.runtime.bundles.list_bundles(Filter(include_disabled=True), None, 100)
        weather = next(bundle for bundle in page.items if bundle.slug == "weather")
        await ot.runtime.bundles.switch_bundle(weather.id, False)
        assert "weather.read_rain" not in (await ot.call("ot.find", query="rain")).data


@pytest.mark.parametrize(("number", "most", "shown"), [(5, 1200, 5), (50, 1200, 6), (3, 10, 1)])
def test_an_answer_stays_within_its_budget(number, most, shown):
    """As many as fit, and never none; long signatures show what is required."""
    properties = {f"parameter_with_a_long_name_{n}": {"type": "string"} for n in range(20)}
    schema = {"type": "object", "properties": properties, "required": ["parameter_with_a_long_name_3"]}
    specs = [
        ToolSpec(name=f"pack.tool{n}", description="Do it. " * 50, input_schema=schema) for n in range(number)
    ]
    lines = found_text(specs, most).splitlines()
    assert abs(len(lines) - shown) <= 1
    assert lines[0].startswith("pack.tool0(parameter_with_a_long_name_3: str, ...): Do it.")


class Slow(Snapshot):
    """A source whose listing waits."""

    def __init__(self, *tools):
        super().__init__(Fixed("slow", Registry()))
        self.may_go, self.listings = asyncio.Event(), 0

    async def page(self, cursor, limit):
        self.listings += 1
        await self.may_go.wait()
        return await super().page(cursor, limit)


async def test_an_index_that_takes_too_long_for_one_is_there_for_the_next():
    """Who cannot wait leaves; what was begun for him is finished, once."""
    source = Slow()
    found = Discovery(Catalog([source]), Threads())
    caller = Caller(door="mcp")
    with pytest.raises(TimeoutError):
        await asyncio.wait_for(found.find("rain", caller, 5), 0.05)
    source.may_go.set()
    assert await asyncio.gather(found.find("rain", caller, 5), found.find("sun", caller, 5)) == [[], []]
    assert source.listings == 1


async def test_two_sources_may_share_a_pack():
    """Only a name that is taken is left out."""

    def other() -> str:
        """Do something else."""
        return "other"

    sources = [function_source("weather", [other])]
    async with memory_runtime(PACKS, sources=sources) as ot:
        assert (await ot.call("weather.other")).data == "other"
        assert {spec.name for spec in await ot.runtime.catalog.pack("weather")} == {
            "weather.read_rain",
            "weather.other",
        }


async def test_savings_of_many_tools_and_sessions(monkeypatch):
    """Of very many definitions the first are measured; a session that was forgotten adds up once."""
    monkeypatch.setattr("onetool.pipeline.savings.MEASURED", 2)
    monkeypatch.setattr("onetool.pipeline.savings.SESSIONS", 1)
    async with memory_runtime(PACKS) as ot:
        for session in ("a", "b", "a"):
            await ot.runtime.run("1", Caller(door="mcp", session=session, approve=grant))
        tally = await ot.runtime.usage()
        assert set(tally.sessions) == {"a", "b"}
        assert min(tally.sessions.values()) > 100


@pytest.mark.parametrize("wrong", [{"isEnabled": "yes"}, {"slug": 1}, {"createdAt": []}])
def test_a_bundle_of_odd_types_is_refused(wrong):
    """What somebody mistook by hand is not taken for a bundle."""
    with pytest.raises(TypeError):
        Bundle.from_json({"id": "x", "slug": "y", **wrong})
