"""The catalog: sources in their order, asked by name, one bad one harming no other."""

import asyncio
from typing import Any

import pytest

from onetool.catalog.catalog import REMEMBERED, Catalog
from onetool.catalog.sources import RETRY_AFTER, Sources
from onetool.domain import Caller, Reason, Registry, Tool, ToolSpec
from onetool.domain.errors import ToolNotFound
from onetool.domain.paging import Page
from onetool.sources.snapshot import Snapshot

ANYBODY = Caller(door="python")


def make(name: str, description: str = "x", **more: Any) -> Tool:
    spec = ToolSpec(**{"name": name, "description": description, "input_schema": {"type": "object"}, **more})
    return Tool(spec)


class Shelf:
    """A reader whose tools a test puts up and takes down."""

    def __init__(self, name: str, *tools: Tool) -> None:
        self.name, self.tools = name, list(tools)
        self.moved = self.reads = 0
        self.fault: Exception | None = None
        self.generation_fault: Exception | None = None

    def generation(self) -> int:
        if self.generation_fault:
            raise self.generation_fault
        return self.moved

    async def read(self) -> Registry:
        self.reads += 1
        if self.fault:
            raise self.fault
        registry = Registry()
        for tool in self.tools:
            registry.register(tool)
        return registry


def catalog(*shelves: Shelf, aliases: dict[str, str] | None = None) -> Catalog:
    return Catalog([Snapshot(shelf) for shelf in shelves], aliases)


async def names(found: Catalog, caller: Caller | None = None) -> list[str]:
    return [tool.spec.name async for tool in found.tools(caller)]


async def test_first_claim_keeps_the_name():
    """The earlier source wins, in look-ups and in listings, every time."""
    first, second = (
        Shelf("first", make("a.x", "1"), make("a.y", "1")),
        Shelf("second", make("a.x", "2"), make("b.z")),
    )
    found = catalog(first, second)
    assert (await found.find("a.x")).spec.description == "1"
    assert await names(found) == ["a.x", "a.y", "b.z"]
    assert await names(found) == ["a.x", "a.y", "b.z"]


async def test_only_what_moved_is_read_again():
    """A source is read when its generation moves, and a change holds for the next call."""
    first, second = Shelf("first", make("a.x")), Shelf("second", make("b.y"))
    found = catalog(first, second)
    for _ in range(3):
        await found.resolve("b.y", ANYBODY)
    second.tools.append(make("b.new"))
    second.moved += 1
    await found.resolve("b.new", ANYBODY)
    second.tools.pop(0)
    second.moved += 1
    with pytest.raises(ToolNotFound):
        await found.resolve("b.y", ANYBODY)
    assert (first.reads, second.reads) == (1, 3)


async def test_a_failing_source_is_empty_and_said_so(caplog):
    """The others answer as if it were not there; it comes back when it moves."""
    good, bad = Shelf("good", make("a.x")), Shelf("bad", make("b.y"))
    bad.fault = OSError("disk gone")
    found = catalog(bad, good)
    assert await names(found) == ["a.x"]
    assert await found.count() == 1
    assert found.failures == {"bad": "OSError: disk gone"}
    assert caplog.text.count("disk gone") == 1
    bad.fault, bad.moved = None, 1
    assert await names(found) == ["b.y", "a.x"]
    assert not found.failures


async def test_a_source_that_cannot_even_say_whether_it_moved_is_empty():
    """Asking for the generation may fail as well."""
    bad, good = Shelf("bad", make("b.y")), Shelf("good", make("a.x"))
    found = catalog(bad, good)
    assert await names(found) == ["b.y", "a.x"]
    bad.generation_fault = OSError("gone")
    with pytest.raises(ToolNotFound):
        await found.resolve("b.y", ANYBODY)
    assert await names(found) == ["a.x"]
    bad.generation_fault = None
    assert await names(found) == ["b.y", "a.x"]


async def test_a_source_that_failed_is_tried_again_after_a_while():
    """A fault that passes does not need a restart."""
    now, bad = [0.0], Shelf("bad", make("b.y"))
    bad.fault = OSError("for a moment")
    sources = Sources([Snapshot(bad), Snapshot(Shelf("good", make("a.x")))], clock=lambda: now[0])
    await sources.refresh()
    assert await sources.find("b.y") is None
    bad.fault = None
    await sources.refresh()
    assert await sources.find("b.y") is None
    now[0] = RETRY_AFTER + 0.1
    await sources.refresh()
    assert (await sources.find("b.y")).spec.name == "b.y"


async def test_aliases_lead_to_tools_and_never_hide_one():
    """A real name wins over an alias."""
    found = catalog(
        Shelf("s", make("a.x"), make("hello")), aliases={"x": "a.x", "hello": "a.x", "lost": "no.such"}
    )
    assert (await found.resolve("x", ANYBODY)).tool.spec.name == "a.x"
    assert (await found.resolve("hello", ANYBODY)).tool.spec.name == "hello"
    assert await found.find("lost") is None


async def test_versions():
    """What is not versioned has the version `current`."""
    found = catalog(Shelf("s", make("a.x")))
    assert await found.find("a.x@current")
    assert await found.find("a.x@2") is None
    assert await found.find("@current") is None


async def test_not_found_says_why():
    """Unknown names come with the nearest that this caller may call; closed tools with their reason."""
    closed = make("a.off", enabled=False)
    found = catalog(Shelf("s", make("fs.read_file"), make("fs.reed_file"), closed))
    caller = Caller(door="ask", allowed=frozenset({"fs.read_file", "a.off"}))
    for name, reason, words in [
        ("fs.raed_file", Reason.UNKNOWN, "Did you mean fs.read_file?"),
        ("fs.reed_file", Reason.NOT_ALLOWED, "not among the allowed"),
        ("a.off", Reason.DISABLED, "is disabled."),
    ]:
        with pytest.raises(ToolNotFound) as caught:
            await found.resolve(name, caller)
        assert caught.value.reason is reason
        assert words in str(caught.value)
    assert await names(found, caller) == ["fs.read_file"]


async def test_an_allow_list_takes_either_name():
    """A configured tool is allowed by its plain and by its qualified name."""
    found = catalog(Shelf("s", make("hello")))
    for name in ("hello", "config.hello"):
        assert await found.resolve("hello", Caller(door="ask", allowed=frozenset({name})))


async def test_pages_hold_no_more_than_asked_for():
    """Walking page by page visits each tool once, across sources, empty ones included."""
    shelves = [
        Shelf("many", *(make(f"a.t{n}") for n in range(7))),
        Shelf("none"),
        Shelf("same", make("a.t1")),
        Shelf("last", make("b.x"), make("b.y")),
    ]
    found, seen, cursor = catalog(*shelves), [], None
    while True:
        page = await found.page(cursor, 3)
        assert len(page.items) <= 3
        seen += [tool.spec.name for tool in page.items]
        cursor = page.next
        if cursor is None:
            break
    assert seen == [*(f"a.t{n}" for n in range(7)), "b.x", "b.y"]
    assert await catalog().page() == Page(())
    assert await catalog(Shelf("none")).page() == Page(())


async def test_packs_are_namespaces():
    """A pack exists when a tool lives in it."""
    found = catalog(Shelf("s", make("a.x"), make("hello")))
    assert [await found.has_pack(pack) for pack in ("a", "config", "b")] == [True, True, False]


async def test_memory_of_names_is_bounded(monkeypatch):
    """What was resolved is remembered, but not without end."""
    monkeypatch.setattr("onetool.catalog.catalog.REMEMBERED", 10)
    found = catalog(Shelf("s", *(make(f"a.t{n}") for n in range(30))))
    for n in range(30):
        await found.resolve(f"a.t{n}", ANYBODY)
    assert len(found._resolved) <= 10 < REMEMBERED


async def test_suggestions_look_through_a_bounded_number_of_names(monkeypatch):
    """A typo in a huge catalog does not walk through all of it."""
    monkeypatch.setattr("onetool.catalog.catalog.SUGGEST_AMONG", 5)
    found = catalog(Shelf("s", *(make(f"a.t{n}") for n in range(30)), make("z.unique")))
    with pytest.raises(ToolNotFound) as caught:
        await found.resolve("z.uniqe", ANYBODY)
    assert "z.unique" not in str(caught.value)


async def test_refreshes_of_one_source_happen_once():
    """Calls that arrive together do not each read the source."""
    shelf = Shelf("s", make("a.x"))
    found = catalog(shelf)
    await asyncio.gather(*(found.resolve("a.x", ANYBODY) for _ in range(20)))
    assert shelf.reads == 1


class Restless(Snapshot):
    """A source that moves while it is being asked."""

    catalog: Catalog

    async def find(self, name: str, version: str | None = None) -> Tool | None:
        self.catalog._sources.generation += 1
        return await super().find(name, version)


async def test_what_moved_while_it_was_asked_is_not_remembered():
    """A tool found in a source that has moved meanwhile is asked for again."""
    source = Restless(Shelf("s", make("a.x")))
    source.catalog = found = Catalog([source])
    assert (await found.resolve("a.x", ANYBODY)).tool.spec.name == "a.x"
    assert not found._resolved
