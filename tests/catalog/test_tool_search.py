"""Search for tools: ranking, permissions and changes of the catalog."""

import asyncio
from contextlib import asynccontextmanager

import pytest

from onetool.catalog.catalog import Catalog
from onetool.catalog.tool_search import CatalogSearch
from onetool.domain.bundles.bundle import Bundle, BundleFilter
from onetool.domain.calls.caller import Caller
from onetool.domain.calls.effect import Effect
from onetool.domain.tools.help_text import signatures_text
from onetool.domain.tools.registry import Registry
from onetool.domain.tools.tool import Tool, ToolSpec
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
            == "weather.read_rain(city: str) -> str: [read-only] Measure how much it rains in a city."
        )
        assert "No matches" in (await ot.call("ot.find", query="zzzzqqq")).data
        run = await ot.run("ot.find(query='letter to a person', limit=1)")
        assert run.data == (
            "post.send_mail(to: str, text: str = '') -> str: [read-only] Send a letter to a person."
        )
        for limit in (0, 51):
            assert (await ot.call("ot.find", query="x", limit=limit)).meta.exception == "ValueError"


def make_spec(name: str, description: str, read_only: bool = True) -> ToolSpec:
    return ToolSpec(name=name, description=description, input_schema={}, read_only=read_only, origin="proxy")


MEMORY = [
    ("memory.read_graph", "Read the entire knowledge graph."),
    ("memory.create_entities", "Create new entities in the knowledge graph."),
    ("memory.search_nodes", "Search for nodes in the knowledge graph by a query."),
    ("memory.open_nodes", "Open nodes in the knowledge graph by their names."),
    ("memory.open_graph", "Open the knowledge graph. DEPRECATED: use read_graph."),
    ("files.write_file", "Write a file. Keeps your knowledge on disk."),
    ("mail.send", "Send a letter to a person with many words, pictures and whatever else belongs there."),
]


@asynccontextmanager
async def found_in(specs, query, limit=5):
    """Yield the text of `ot.find` and the client, for a catalog with these tools."""
    registry = Registry()
    for spec in specs:
        registry.add(Tool(spec, None))
    async with memory_runtime(sources=[SnapshotSource(StaticReader("extra", registry))]) as ot:
        yield (await ot.call("ot.find", query=query, limit=limit)).data, ot


async def test_weak_matches_are_cut_and_deprecated_tools_come_last():
    async with found_in([make_spec(*row) for row in MEMORY], "knowledge graph", 10) as (text, _):
        names = [line.partition("(")[0] for line in text.splitlines()]
    assert "files.write_file" not in names
    assert (len(names), names[0], names[-1]) == (5, "memory.read_graph", "memory.open_graph")
    assert text.splitlines()[-1].startswith("memory.open_graph(): [read-only, deprecated] Open the")


async def test_cut_is_relative_to_the_tools_that_the_caller_may_call():
    caller = Caller(
        interface="ask", allowed=frozenset({"ot.find", "post.send_mail"}), default_effect=Effect.ALLOW
    )
    async with memory_runtime(PACKS, caller=caller) as ot:
        query = "measure how much it rains in a city, then send it"
        assert (await ot.call("ot.find", query=query)).data.startswith("post.send_mail(")


async def test_search_says_if_nothing_fits_closely():
    query = "calibrate zebra telescope altitude belongs"
    async with found_in([make_spec(*row) for row in MEMORY], query) as (text, ot):
        assert text == (
            f"Nothing fits {query!r} closely. Nearest: mail.send. Browse with ot.tools() or ot.packs()."
        )
        found = await ot.runtime.state.search.find_names(query)
        assert (list(found), await ot.runtime.state.search.find_names("letter")) == ([], ["mail.send"])


async def test_hint_leads_to_the_other_matches():
    """The number counts all close matches, and the help lists them all."""
    specs = [make_spec(f"git.git_{name}", "Work with commits.") for name in "abcdefghijkl"]
    async with found_in(specs, "git") as (text, ot):
        assert text.splitlines()[5:] == ["5 of 12: ot.help(query='git')"]
        listed = (await ot.call("ot.help", query="git")).data
        assert all(spec.name in listed for spec in specs)
        query = "my commits please"
        text = (await ot.call("ot.find", query=query)).data
        assert text.splitlines()[-1] == f"5 of 12: ot.help(query={query!r})"
        shown = (await ot.call("ot.help", query=query)).data
        assert f"(2 more: ot.help(query={query!r}, info='list'))" in shown
        names = (await ot.call("ot.help", query=query, info="list")).data
        assert {spec.name for spec in specs} <= set(names)
        assert len((await ot.call("ot.find", query="git", limit=12)).data.splitlines()) == 12


async def test_number_of_matches_can_be_unknown():
    specs = [make_spec(f"git.git_{n}", "Work with commits.") for n in range(60)]
    async with found_in(specs, "git") as (text, _):
        assert text.splitlines()[-1] == "5 of 50 or more: ot.help(query='git')"


async def test_access_and_overlapping_packs_are_shown():
    """In `ot.find`, `ot.help`, `ot.packs` and `ot.tools(info="full")`."""
    specs = [
        make_spec("files.read_file", "Read a file."),
        make_spec("files.write_file", "Write a file.", read_only=False),
        make_spec("files.edit_file", "Change a file.", read_only=False),
    ]
    async with found_in(specs, "write a file", 3) as (text, ot):
        assert "files.write_file(): [changes] Write a file." in text.splitlines()
        (line,) = [line for line in text.splitlines() if line.startswith("Similar tools: ")]
        assert line.startswith("Similar tools: file, files. ")
        for pack_help in (
            (await ot.call("ot.help", query="files")).data,
            (await ot.call("ot.packs", pattern="files", info="full")).data,
        ):
            assert "- files.read_file: [read-only] Read a file." in pack_help.splitlines()
            assert "- files.edit_file: [changes] Change a file." in pack_help.splitlines()
            assert "Similar tools: files, file, fs. " in pack_help
        assert "Similar tools" not in (await ot.call("ot.help", query="time")).data
        assert "- files.write_file: [changes]" in (await ot.call("ot.help", query="write_file text")).data
        for name, access in (("files.read_file", "read-only"), ("files.edit_file", "changes")):
            assert f"Access: {access}" in (await ot.call("ot.help", query=name)).data.splitlines()
            (entry,) = (await ot.call("ot.tools", pattern=name, info="full")).data
            assert entry["access"] == access


async def test_search_respects_the_allow_list():
    caller = Caller(
        interface="ask", allowed=frozenset({"ot.find", "post.send_mail"}), default_effect=Effect.ALLOW
    )
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
    assert lines[0].startswith("pack.tool0(parameter_with_a_long_name_3: str, ...): [read-only] Do it.")


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
    found = await asyncio.gather(search.find("rain", caller, 5), search.find("sun", caller, 5))
    assert [list(tools.specs) for tools in found] == [[], []]
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
            await ot.runtime.run("1", Caller(interface="mcp", session=session, default_effect=Effect.ALLOW))
        summary = await ot.runtime.recorder.summary()
        assert set(summary.sessions) == {"a", "b"}
        assert min(summary.sessions.values()) > 100


async def test_savings_of_many_definitions_are_extrapolated_from_the_first_ones(monkeypatch):
    estimates = []
    for measured in (500, 3):
        monkeypatch.setattr("onetool.pipeline.token_savings.MAX_MEASURED", measured)
        async with memory_runtime(PACKS) as ot:
            await ot.runtime.run("1", Caller(interface="mcp", session="s", default_effect=Effect.ALLOW))
            estimates.append((await ot.runtime.recorder.summary()).sessions["s"])
    exact, extrapolated = estimates
    assert exact / 3 < extrapolated < exact * 3


@pytest.mark.parametrize("invalid", [{"isEnabled": "yes"}, {"slug": 1}, {"createdAt": []}])
def test_bundle_with_wrong_types_is_rejected(invalid):
    with pytest.raises(TypeError):
        Bundle.from_json({"id": "x", "slug": "y", **invalid})
