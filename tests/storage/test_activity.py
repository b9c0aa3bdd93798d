"""Contract suite of the activity stores, and what the file store does about corrupt and full files."""

import sqlite3
from itertools import pairwise

import pytest

from onetool.domain.activity.record import ActivityFilter, CallRecord
from onetool.domain.activity.rollup import RollUp
from onetool.domain.errors import Reason, StoreUnavailable
from onetool.domain.usage.summary import (
    DAY,
    HOUR,
    PERIODS,
    CallCounter,
    TokenSaving,
    ToolUsage,
    estimate_tokens,
)
from onetool.ports.activity import MAX_TREE
from onetool.storage.files import activity as module
from onetool.storage.files import activity_queries as queries
from onetool.storage.files.activity import FileActivity
from onetool.storage.memory.activity import MAX_RECORDS, MemoryActivity
from onetool.storage.postgres import activity_queries as postgres_queries
from onetool.storage.postgres import activity_writes as postgres_writes
from onetool.storage.postgres.activity import PostgresActivity
from onetool.threads import Threads
from support.activity import add, record

NOW = 1_794_700_000.0
ALL = ActivityFilter()


@pytest.fixture
def files(tmp_path):
    return FileActivity(tmp_path / "x" / "activity.sqlite3", Threads())


@pytest.fixture
def database(workspace):
    return PostgresActivity(workspace, Threads())


@pytest.fixture(params=["memory", "files", "postgres"])
def store(request):
    if request.param == "memory":
        return MemoryActivity()
    return request.getfixturevalue("files" if request.param == "files" else "database")


@pytest.fixture(params=["files", "database"])
def lasting_store(request):
    """Return a store that does not end with the process."""
    return request.getfixturevalue(request.param)


def call(tool="x.y", age=0.0, **fields):
    return record(tool, NOW - age, **fields)


async def add_savings(store, *savings):
    await store.add([], RollUp().add_savings(savings))


async def ids(store, limit=100, **fields):
    return [item.id for item in (await store.page(ActivityFilter(**fields), None, limit)).items]


async def test_empty_store(store):
    assert (await store.page(ALL, None, 10)).items == []
    assert await store.get("x") is None
    assert list(await store.tree("x")) == []
    assert (await store.summarize(None)).total() == (await store.summarize(NOW)).total() == ToolUsage()
    assert await store.counters(["x"]) == {}
    await store.delete_old(NOW, 0)
    await store.aclose()


async def test_record_is_returned_as_it_was_stored(store):
    """With its body by id, and without it in listings. PostgreSQL has no NUL."""
    whole = CallRecord(
        id="1",
        tool="x.y",
        started=NOW - 1,
        ended=NOW,
        kind="run",
        parent="p",
        principal="local",
        interface="mcp",
        client="a client",
        profile="work",
        session="s",
        source="run",
        tool_id="id",
        version="v1",
        reason=Reason.RAISED,
        decision="approved",
        duration_ms=1000.5,
        bytes_in=3,
        bytes_out=2**40,
        arguments='{"a": "é"}',
        result="no\0\n",
    )
    await add(store, whole, call(id="2"))
    result = "no\ufffd\n" if isinstance(store, PostgresActivity) else "no\0\n"
    assert await store.get("1") == whole._replace(result=result)
    assert (await store.get("2")).arguments == ""
    page = await store.page(ALL, None, 10)
    assert [item.id for item in page.items] == ["2", "1"]
    assert page.items[1] == whole._replace(arguments="", result="")


async def test_pages_contain_every_record_once_newest_first(store):
    await add(store, *(call(id=str(number)) for number in range(25)))
    found, cursor = [], None
    while True:
        page = await store.page(ALL, cursor, 10)
        found += [item.id for item in page.items]
        if (cursor := page.next) is None:
            break
        await add(store, call(id="later"))  # belongs to none of the pages
    assert found == [str(number) for number in reversed(range(25))]


@pytest.mark.parametrize("cursor", ["", "x", "-1", "1.5", "²", "9" * 30])
async def test_invalid_cursor_is_refused(store, cursor):
    await add(store, call())
    with pytest.raises(ValueError, match="cursor"):
        await store.page(ALL, cursor, 10)


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        ({"principal": "ann"}, "a"),
        ({"tool": "fs"}, "ba"),
        ({"tool": "fs.read"}, "a"),
        ({"tool": "fs.*"}, "ba"),
        ({"tool": "*.read"}, "ca"),
        ({"tool": "f?.read"}, "a"),
        ({"tool": "FS"}, ""),
        ({"tool": "fs[.]read"}, ""),
        ({"interface": "mcp"}, "b"),
        ({"client": "editor"}, "b"),
        ({"profile": "work"}, "c"),
        ({"session": "s"}, "b"),
        ({"ok": True}, "ba"),
        ({"ok": False}, "c"),
        ({"reason": Reason.TIMEOUT}, "c"),
        ({"reason": Reason.RAISED}, ""),
        ({"since": NOW - 10}, "cb"),
        ({"until": NOW - 10}, "a"),
        ({"parent": ""}, "ca"),
        ({"parent": "a"}, "b"),
        ({"text": "HELLO"}, "b"),
        ({"text": "100%_\\"}, "c"),
        ({"text": "%"}, "c"),
        ({"text": "read"}, "ca"),
        ({"tool": "fs", "ok": True, "since": NOW - 10}, "b"),
    ],
)
async def test_filters(store, fields, expected):
    await add(
        store,
        call("fs.read", 20, id="a", principal="ann"),
        call(
            "fs.write",
            10,
            id="b",
            interface="mcp",
            client="editor",
            session="s",
            parent="a",
            arguments='{"t": "Hello"}',
        ),
        call("web.read", id="c", profile="work", reason=Reason.TIMEOUT, result="is 100%_\\"),
    )
    assert "".join(await ids(store, **fields)) == expected


async def test_pattern_with_many_wildcards_is_refused(store):
    """It could take too long to match. Repeated ones are one."""
    await add(store, call("a.b"))
    assert len(await ids(store, tool="*****.b")) == 1
    with pytest.raises(ValueError, match="wildcards"):
        await ids(store, tool="*a*a*a*a*")


async def test_tree_has_all_calls_inside_a_call(store):
    """Also those inside other calls, in the order in which they started."""
    await add(
        store,
        call("c", id="inner", parent="middle", started=NOW - 1),
        call("b", id="middle", parent="outer", started=NOW - 2),
        call("d", id="second", parent="outer", started=NOW - 0.5, result="seen"),
        call("a", id="outer", started=NOW - 3),
        call("other", id="other"),
    )
    tree = await store.tree("outer")
    assert [(item.id, item.parent) for item in tree] == [
        ("outer", ""),
        ("middle", "outer"),
        ("inner", "middle"),
        ("second", "outer"),
    ]
    assert tree[-1].result == "seen"
    assert [item.id for item in await store.tree("middle")] == ["middle", "inner"]
    assert list(await store.tree("missing")) == []


async def test_tree_without_its_outermost_call_is_unknown(store):
    """It was deleted, or has not ended."""
    await add(store, call(id="inner", parent="running"))
    assert list(await store.tree("running")) == []
    assert await ids(store, parent="running") == ["inner"]


async def test_tree_is_limited_and_cycles_end(store):
    await add(store, call(id="one", parent="two"), call(id="two", parent="one"))
    assert len(await store.tree("one")) == 2
    children = [call(id=f"c{number}", parent="root") for number in range(MAX_TREE + 10)]
    await add(store, *children, call(id="root", started=NOW - 100))
    assert len(await store.tree("root")) == MAX_TREE


async def test_usage_is_summarized_per_tool(store):
    """Calls of unknown tools are counted together, and code is not a call."""
    await add(store, call(duration_ms=10), call(reason=Reason.RAISED, duration_ms=30), call("a.b", HOUR))
    await add(store, call("made up", reason=Reason.UNKNOWN), call("too", reason=Reason.UNKNOWN))
    await add(store, call("run", kind="run"), call("run", reason=Reason.UNKNOWN))
    for since in (None, NOW - 2 * HOUR, NOW - HOUR - 0.5):
        summary = await store.summarize(since)
        tool = summary.tools["x.y"]
        assert (tool.calls, tool.failed, tool.total_ms, tool.max_ms, tool.last_at) == (2, 1, 40, 30, NOW)
        assert (tool.success_rate, tool.mean_ms) == (50.0, 20.0)
        assert tool.hours == {int(NOW // HOUR): (2, 1)}
        assert summary.tools["(unknown)"].calls == 3
        assert summary.total().calls == 6
        assert set(summary.for_tool("a.b").tools) == {"a.b"}
        assert summary.for_tool("never").total() == ToolUsage()


async def test_periods_are_exact_to_the_second(store):
    """A rolling window may start in the middle of an hour."""
    ages = (0, DAY - 1, DAY, DAY + 1, 3 * DAY, 10 * DAY, 40 * DAY)
    await add(store, *(call(age=age) for age in ages), call("run", DAY - 1, kind="run"))
    calls = [(await store.summarize(None if s is None else NOW - s)).total().calls for s in PERIODS.values()]
    assert calls == [3, 5, 6, 7]


async def test_definition_savings_count_once_per_session(store):
    """Savings of results and round trips count every time, and those of a period to the hour."""
    await add_savings(store, TokenSaving(NOW, 100, session="s1"), TokenSaving(NOW - DAY, 90, session="s1"))
    await add_savings(store, TokenSaving(NOW - 2 * DAY, 50, session="s2"), TokenSaving(NOW, 7))
    await add_savings(store, TokenSaving(NOW, round_trips=2), TokenSaving(NOW - DAY, round_trips=3))
    total = (await store.summarize(None)).total()
    assert (total.saved_tokens, total.round_trips, total.calls, total.success_rate) == (157, 5, 0, 0)
    recent = (await store.summarize(NOW - 1)).total()
    assert (recent.saved_tokens, recent.round_trips, recent.hours) == (107, 2, {})
    assert estimate_tokens(4001) == 1000


async def test_counters_accumulate_per_tool_id(store):
    """Calls of unknown tools are not counted."""
    await add(store)
    await add(store, call(tool_id="id"), call(tool_id="id", age=5), call(tool_id="other"), call())
    await add(store, call(tool_id="id", age=9))
    assert await store.counters(["id", "never"]) == {"id": CallCounter(3, NOW)}
    assert len(await store.counters(["id", "other"] + [str(n) for n in range(2000)])) == 2


async def test_generation_changes_with_every_write(store):
    seen = [store.generation()]
    for number in range(3):
        await add(store, call(id=str(number)))
        seen.append(store.generation())
    assert all(before != after for before, after in pairwise(seen))


async def test_old_records_are_deleted_and_their_figures_stay(store):
    await add(store, call(id="old", age=40 * DAY, arguments="x", tool_id="id"), call(id="new"))
    await store.delete_old(NOW - 35 * DAY, 2**30)
    assert await ids(store) == ["new"]
    assert await store.get("old") is None
    assert (await store.summarize(None)).total().calls == 2
    assert (await store.counters(["id"]))["id"].calls == 1


@pytest.mark.guards("record-calls")
async def test_too_large_store_loses_the_oldest_bodies_then_the_oldest_records(store, monkeypatch):
    for sql in (queries, postgres_writes):
        monkeypatch.setattr(sql, "CHUNK", 10)
    body = "x" * 10_000
    await add(store, *(call(id=str(number), arguments=body, result=body) for number in range(100)))
    await store.delete_old(0.0, 1_000_000)
    assert len(await ids(store)) == 100
    kept = [bool((await store.get(str(number))).arguments) for number in range(100)]
    assert kept == sorted(kept)
    assert 10 <= sum(kept) <= 50
    await store.delete_old(0.0, 1_000)
    left = await ids(store)
    assert left == [str(number) for number in range(99, 99 - len(left), -1)]
    assert len(left) < 50
    assert (await store.summarize(None)).total().calls == 100


async def test_memory_is_limited():
    store = MemoryActivity()
    await add(store, *(call(id=str(number)) for number in range(MAX_RECORDS + 5)))
    assert len(store.records) == MAX_RECORDS
    assert (await store.summarize(None)).total().calls == MAX_RECORDS + 5
    page = await store.page(ALL, None, 1)
    assert (await store.page(ALL, page.next, 1)).items[0].id == str(MAX_RECORDS + 3)


async def test_hours_of_past_months_become_days(lasting_store):
    """The figures stay the same."""
    store = lasting_store
    day = NOW - NOW % DAY - 50 * DAY
    records = [call(age=NOW - day - hour * HOUR, duration_ms=hour) for hour in range(24)]
    await add(store, *records, call(reason=Reason.RAISED))
    before = (await store.summarize(None)).tools["x.y"]
    assert len(before.hours) == 25
    await store.delete_old(0.0, 2**30)
    await store.delete_old(0.0, 2**30)
    after = (await store.summarize(None)).tools["x.y"]
    assert after.hours == {int(day // HOUR): (24, 0), int(NOW // HOUR): (1, 1)}
    assert (after.calls, after.total_ms, after.max_ms) == (before.calls, before.total_ms, before.max_ms)


async def test_page_searches_a_limited_number_of_records(lasting_store, monkeypatch):
    """It may be empty and have a cursor. The calls of a parent are found at once."""
    for sql in (queries, postgres_queries):
        monkeypatch.setattr(sql, "MAX_SEARCHED", 10)
    store = lasting_store
    await add(store, call("rare.tool", 7200, id="rare", parent="p"), *(call() for _ in range(25)))
    found, cursor, pages = [], None, 0
    while pages == 0 or cursor is not None:
        page = await store.page(ActivityFilter(tool="rare"), cursor, 5)
        found, cursor, pages = [*found, *page.items], page.next, pages + 1
    assert ([item.id for item in found], pages) == (["rare"], 3)
    assert await ids(store, parent="p") == ["rare"]
    page = await store.page(ActivityFilter(tool="rare", since=NOW + DAY), None, 5)
    assert page.next is None  # all others ended long before that


async def test_corrupt_file_is_moved(tmp_path, caplog):
    """A new one is started, and the file remains for inspection."""
    file = tmp_path / "activity.sqlite3"
    file.write_bytes(b"this is not a database, only text that is long enough" * 50)
    store = FileActivity(file, Threads())
    await add(store, call(id="1", tool_id="id"))
    assert await store.counters(["id"]) == {"id": CallCounter(1, NOW)}
    assert len(list(tmp_path.glob("*.corrupt-*"))) == 1
    assert "moved corrupt file" in caplog.text
    await store.aclose()


async def test_file_that_becomes_corrupt_is_moved(tmp_path):
    """Also while it is open in this process and another one."""
    file = tmp_path / "activity.sqlite3"
    store, other = FileActivity(file, Threads()), FileActivity(file, Threads())
    await add(store, *(call(id=str(number), arguments="x" * 1000) for number in range(100)))
    await add(other, call())
    await store.aclose()
    await other.aclose()
    content = file.read_bytes()
    file.write_bytes(content[:4096] + b"\xff" * (len(content) - 4096))
    await add(store, call(id="new"))
    await add(other, call(id="other"))
    assert await ids(store) == await ids(other) == ["other", "new"]
    assert len(list(tmp_path.glob("*.corrupt-*"))) == 1


async def test_deleted_file_is_created_again(tmp_path):
    """The open connection still has the old one."""
    file = tmp_path / "activity.sqlite3"
    store = FileActivity(file, Threads())
    await add(store, call(id="1"))
    for path in tmp_path.iterdir():
        path.unlink()
    await add(store, call(id="2"))
    assert await ids(FileActivity(file, Threads())) == ["2"]


async def test_locked_file_is_not_corrupt(tmp_path, monkeypatch):
    """A lock that another process holds for too long raises, and nothing is stored twice afterwards."""
    monkeypatch.setattr(module, "TIMEOUT_S", 0.05)
    store = FileActivity(tmp_path / "activity.sqlite3", Threads())
    await add(store, call(id="1"))
    with sqlite3.connect(tmp_path / "activity.sqlite3") as other:
        other.execute("begin immediate")
        with pytest.raises(StoreUnavailable, match="locked"):
            await add(store, call(id="2"))
        assert await ids(store) == ["1"]  # reading goes on
    other.close()
    assert not list(tmp_path.glob("*.corrupt-*"))
    await add(store, call(id="2"))
    assert await ids(store) == ["2", "1"]


async def test_directory_that_cannot_be_created(tmp_path):
    (tmp_path / "x").write_text("a file")
    store = FileActivity(tmp_path / "x" / "activity.sqlite3", Threads())
    with pytest.raises(OSError, match="x"):
        await add(store, call())
    assert await ids(store) == []


async def test_file_that_stayed_empty_has_no_records(tmp_path):
    """The disk was full when it was created."""
    (tmp_path / "activity.sqlite3").touch()
    store = FileActivity(tmp_path / "activity.sqlite3", Threads())
    assert await ids(store) == []
    assert (await store.summarize(None)).tools == {}
