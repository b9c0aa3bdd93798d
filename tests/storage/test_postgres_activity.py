"""Records of calls in PostgreSQL: refused characters, failures, and writers at the same time."""

import asyncio

import pytest

from onetool.domain.activity.record import ActivityFilter
from onetool.domain.activity.rollup import RollUp, SessionSaving
from onetool.domain.errors import StoreUnavailable
from onetool.domain.usage.summary import CallCounter, ToolUsage
from onetool.storage.postgres.activity import PostgresActivity
from onetool.threads import Threads
from support.activity import add, figures, record

NOW = 1_794_700_000.0
ALL = ActivityFilter()


@pytest.fixture
def store(workspace):
    return PostgresActivity(workspace, Threads())


@pytest.mark.parametrize("character", ["\0", "\ud800"], ids=ascii)
async def test_characters_that_the_database_refuses_are_replaced(store, character):
    """Names that become the same are counted together. Ids with such characters are unknown."""
    call = record(f"a{character}b", NOW, id=f"1{character}", tool_id=f"t{character}", result=f"x{character}é")
    same = record("a\ufffdb", NOW, id="2", tool_id="t\ufffd")
    await add(store, call, same)
    await store.add([], RollUp(sessions={f"s{character}": SessionSaving(1, NOW)}))
    page = await store.page(ALL, None, 10)
    assert [(item.id, item.tool) for item in page.items] == [("2", "a\ufffdb"), ("1\ufffd", "a\ufffdb")]
    assert (await store.get("1\ufffd")).result == "x\ufffdé"
    assert await store.get(f"1{character}") is None
    assert list(await store.tree(f"1{character}")) == []
    assert await store.counters([f"t{character}", "t\ufffd"]) == {"t\ufffd": CallCounter(2, NOW)}
    summary = await store.summarize(None)
    assert (summary.tools["a\ufffdb"].calls, summary.sessions) == (2, {"s\ufffd": 1})
    for name in ("principal", "interface", "client", "profile", "session", "parent"):
        assert (await store.page(ActivityFilter(**{name: character}), None, 10)).items == []
    assert len((await store.page(ActivityFilter(text=f"x{character}"), None, 10)).items) == 1
    assert len((await store.page(ActivityFilter(tool=f"a{character}*"), None, 10)).items) == 2


@pytest.mark.parametrize("pattern", ["a%", "a_b", r"a\b", "a*"])
async def test_characters_of_like_patterns_stand_for_themselves(store, pattern):
    await add(store, *(record(tool, NOW) for tool in ("a%", "a_b", r"a\b", "axb")))
    found = [item.tool for item in (await store.page(ActivityFilter(tool=pattern), None, 10)).items]
    assert len(found) == 4 if pattern == "a*" else found == [pattern]


async def test_text_is_found_in_any_case_of_any_alphabet(store):
    await add(store, record("a.b", NOW, arguments='{"name": "ÉCOLE"}'))
    assert len((await store.page(ActivityFilter(text="école"), None, 10)).items) == 1


async def test_records_without_their_figures_are_not_stored(store):
    await add(store, record("a.b", NOW, id="1", tool_id="t"))
    seen = store.generation()
    records = [record("a.b", NOW, id="2", tool_id="t")]
    wrong = figures(records)
    wrong.counters["other"] = CallCounter(2**64 - 1, NOW)  # larger than the column
    with pytest.raises(StoreUnavailable):
        await store.add(records, wrong)
    assert store.generation() == seen
    assert await store.get("2") is None
    assert (await store.summarize(None)).total().calls == 1
    assert await store.counters(["t", "other"]) == {"t": CallCounter(1, NOW)}


async def test_all_records_of_simultaneous_writers_are_stored(workspace):
    """Each has a number of its own, and no writer fails because of another one."""
    stores = [PostgresActivity(workspace, Threads()) for _ in range(16)]

    async def write(number, store):
        calls = [record(f"a.{n % 3}", NOW, id=f"{number}-{n}", tool_id=str(n % 3)) for n in range(20)]
        await add(store, *(calls if number % 2 else reversed(calls)))

    await asyncio.gather(*(write(number, store) for number, store in enumerate(stores)))
    store = stores[0]
    page = await store.page(ALL, None, 500)
    assert len({item.id for item in page.items}) == len(page.items) == 16 * 20
    assert (await store.summarize(None)).total().calls == 16 * 20
    assert sum(counter.calls for counter in (await store.counters("012")).values()) == 16 * 20


async def test_clean_ups_at_the_same_time_delete_each_record_once(workspace):
    stores = [PostgresActivity(workspace, Threads()) for _ in range(4)]
    await add(stores[0], *(record("a.b", NOW - 100, id=str(n), arguments="x") for n in range(200)))
    await add(stores[0], record("a.b", NOW, id="new", arguments="x"))
    await asyncio.gather(*(store.delete_old(NOW - 50, 2**30) for store in stores))
    assert [item.id for item in (await stores[0].page(ALL, None, 10)).items] == ["new"]
    assert (await stores[0].get("new")).arguments == "x"
    assert (await stores[0].summarize(None)).total() == ToolUsage(
        201, last_at=NOW, hours={int(NOW // 3600): (201, 0)}
    )
