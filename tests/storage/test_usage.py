"""Contract suites of the usage stores and the counter stores; toggles and rate limits."""

from datetime import UTC, datetime

import orjson
import pytest

from onetool.domain.errors import Reason, StoreUnavailable
from onetool.domain.usage.events import (
    DAY,
    HOUR,
    PERIODS,
    CallCounter,
    CallEvent,
    TokenSaving,
    ToolUsage,
    UsageSummary,
    estimate_tokens,
)
from onetool.storage.files.counters import FileCounters
from onetool.storage.files.toggles import FileToggles
from onetool.storage.files.usage import FileUsage
from onetool.storage.files.usage_days import to_line
from onetool.storage.memory.counters import MemoryCounters
from onetool.storage.memory.rate_limits import MemoryRateLimiter
from onetool.storage.memory.usage import MemoryUsage
from onetool.threads import Threads
from support.cpu_time import cpu_seconds
from support.file_access import counted_access

NOW = 1_794_700_000.0


@pytest.fixture(params=["memory", "files"])
def usage(request, tmp_path):
    return (
        MemoryUsage() if request.param == "memory" else FileUsage(tmp_path / "usage", Threads(), lambda: NOW)
    )


@pytest.fixture(params=["memory", "sqlite"])
def counters(request, tmp_path):
    return (
        MemoryCounters()
        if request.param == "memory"
        else FileCounters(tmp_path / "x" / "counters.sqlite3", Threads())
    )


def call(tool="x.y", age=0.0, **fields):
    return CallEvent(tool=tool, at=NOW - age, **{"ok": True} | fields)


async def test_calls_are_summarized_per_tool(usage):
    """Calls of unknown tools are counted together."""
    await usage.add([call(duration_ms=10), call(ok=False, duration_ms=30), call("a.b", HOUR)])
    await usage.add(
        [call("made up", ok=False, reason=Reason.UNKNOWN), call("too", ok=False, reason=Reason.UNKNOWN)]
    )
    summary = await usage.summarize(None)
    tool = summary.tools["x.y"]
    assert (tool.calls, tool.failed, tool.total_ms, tool.max_ms, tool.last_at) == (2, 1, 40, 30, NOW)
    assert (tool.success_rate, tool.mean_ms) == (50.0, 20.0)
    assert tool.hours == {int(NOW // HOUR): (2, 1)}
    assert summary.tools["(unknown)"].calls == 2
    assert summary.total().calls == 5
    assert set(summary.for_tool("a.b").tools) == {"a.b"}
    assert summary.for_tool("never").total() == ToolUsage()


async def test_periods_are_exact_to_the_second(usage):
    """A rolling window may start in the middle of a day."""
    await usage.add([call(age=age) for age in (0, DAY - 1, DAY + 1, 3 * DAY, 10 * DAY, 40 * DAY)])
    calls = [(await usage.summarize(None if s is None else NOW - s)).total().calls for s in PERIODS.values()]
    assert calls == [2, 4, 5, 6]


async def test_definition_savings_count_once_per_session(usage):
    """Savings of results and round trips count every time."""
    await usage.add(
        [
            TokenSaving("definitions", NOW, "s1", tokens=100),
            TokenSaving("definitions", NOW - DAY, "s1", tokens=90),
        ]
    )
    await usage.add(
        [TokenSaving("definitions", NOW, "s2", tokens=50), TokenSaving("result", NOW, tool="run", tokens=7)]
    )
    await usage.add(
        [
            TokenSaving("calls", NOW, tool="run", round_trips=2),
            TokenSaving("calls", NOW, tool="run", round_trips=3),
        ]
    )
    total = (await usage.summarize(None)).total()
    assert (total.saved_tokens, total.round_trips, total.calls, total.success_rate, total.mean_ms) == (
        157,
        5,
        0,
        0,
        0,
    )
    assert estimate_tokens(4001) == 1000


async def test_past_days_are_summarized_in_files(tmp_path):
    """After 35 days, one file has the daily figures of all days."""
    store = FileUsage(tmp_path, Threads(), lambda: NOW)
    await store.add(
        [
            call(age=50 * DAY),
            call(age=40 * DAY),
            call(age=40 * DAY + HOUR, ok=False),
            call(age=5 * DAY, duration_ms=5),
            TokenSaving("definitions", NOW - 40 * DAY, "s", tokens=8),
        ]
    )
    before = await store.summarize(None)
    (recent,) = tmp_path.glob("*.jsonl")
    assert {file.name for file in tmp_path.iterdir()} == {
        recent.name,
        recent.with_suffix(".json").name,
        "archive.json",
        "archive.lock",
    }
    assert before.total().calls == 4
    assert before.total().saved_tokens == 8
    assert sorted(before.tools["x.y"].hours.values()) == [(1, 0), (1, 0), (2, 1)]
    assert (
        await FileUsage(tmp_path, Threads(), lambda: NOW).summarize(None)
        == await store.summarize(None)
        == before
    )
    assert UsageSummary.from_json(orjson.loads(orjson.dumps(before.to_json()))) == before
    await store.add([call(age=5 * DAY)])
    await store.add([call(age=40 * DAY)])
    assert (await store.summarize(None)).total().calls == 6
    assert (await store.summarize(NOW - 30 * DAY)).total().calls == 2
    assert (await store.summarize(NOW - 60 * DAY)).total().calls == 6


def fill_year(folder, calls_per_day=20) -> None:
    """Write the events of the last 365 days."""
    folder.mkdir(exist_ok=True)
    for day in range(365):
        event = call(f"tool.n{day % 7}", age=day * DAY)
        file = folder / f"{datetime.fromtimestamp(event.at, UTC).date()}.jsonl"
        file.write_bytes(to_line(event) * calls_per_day)


async def test_year_of_statistics_is_read_once(tmp_path):
    """Later, one process reads nothing but new events, and a new process one file for each recent day."""
    fill_year(tmp_path)
    store = FileUsage(tmp_path, Threads(), lambda: NOW)
    first = await store.summarize(None)
    assert first.total().calls == 365 * 20
    with counted_access(tmp_path) as access:
        assert await store.summarize(None) == first
    assert access["open"] == 0
    await store.add([call("tool.new")])
    with counted_access(tmp_path) as access:
        assert (await store.summarize(None)).total().calls == 365 * 20 + 1
    assert access["open"] == 1
    with counted_access(tmp_path) as access:
        assert (
            await FileUsage(tmp_path, Threads(), lambda: NOW).summarize(None)
        ).total().calls == 365 * 20 + 1
    assert access["open"] <= 1 + 36 + 2  # the archive, the summaries, the events of the last two days


async def cost_of_summary(store):
    start = cpu_seconds()
    await store.summarize(None)
    return cpu_seconds() - start


async def test_events_of_today_are_read_once(tmp_path):
    """A new process starts with a stored summary, and reads only the events after it."""
    store = FileUsage(tmp_path, Threads(), lambda: NOW)
    await store.add([call() for _ in range(5_000)])
    cost = await cost_of_summary(store)
    await store.add([call()])
    (events,) = tmp_path.glob("*.jsonl")
    for reader in (store, FileUsage(tmp_path, Threads(), lambda: NOW)):
        later = await cost_of_summary(reader)
        assert later < cost / 4
        assert (await reader.summarize(None)).total().calls == 5_001
    first, *_, last = events.read_bytes().splitlines(keepends=True)
    events.write_bytes(first.replace(b"x.y", b"?.?") * 5_000 + last)
    assert (await FileUsage(tmp_path, Threads(), lambda: NOW).summarize(None)).tools["x.y"].calls == 5_001


async def test_replaced_events_are_read_again(tmp_path):
    """For instance, a backup was restored."""
    store = FileUsage(tmp_path, Threads(), lambda: NOW)
    await store.add([call()])
    (events,) = tmp_path.glob("*.jsonl")
    backup = events.read_bytes()
    await store.add([call("other.tool")])
    assert (await store.summarize(None)).total().calls == 2
    events.write_bytes(backup)
    assert (await store.summarize(None)).total().calls == 1


async def test_day_is_archived_once_if_the_process_dies_while_archiving(tmp_path):
    """It has written the archive and not yet deleted the files."""
    store = FileUsage(tmp_path, Threads(), lambda: NOW)
    await store.add([call(age=40 * DAY)])
    (events,) = tmp_path.glob("*.jsonl")
    content, archive = events.read_bytes(), tmp_path / "archive.json"
    await store.summarize(None)
    archive.write_bytes(orjson.dumps(orjson.loads(archive.read_bytes()) | {"added": [events.stem]}))
    events.write_bytes(content)
    for _ in range(2):
        assert (await FileUsage(tmp_path, Threads(), lambda: NOW).summarize(None)).total().calls == 1
    assert not events.exists()
    assert orjson.loads(archive.read_bytes())["added"] == []


async def test_days_are_counted_if_they_cannot_be_archived(tmp_path, caplog):
    store = FileUsage(tmp_path, Threads(), lambda: NOW)
    await store.add([call(age=40 * DAY), call()])
    (tmp_path / "archive.lock").mkdir()
    assert (await store.summarize(None)).total().calls == 2
    assert "cannot archive" in caplog.text
    (tmp_path / "archive.lock").rmdir()
    assert (await store.summarize(None)).total().calls == 2
    assert (tmp_path / "archive.json").exists()


async def test_corrupt_archive_is_moved(tmp_path):
    """Counting starts again, and the file remains for inspection."""
    store = FileUsage(tmp_path, Threads(), lambda: NOW)
    await store.add([call(age=40 * DAY), call()])
    await store.summarize(None)
    (tmp_path / "archive.json").write_text("damaged")
    assert (await store.summarize(None)).total().calls == 1
    assert [file.read_text() for file in tmp_path.glob("archive.json.corrupt-*")] == ["damaged"]


async def test_corrupt_summary_is_rebuilt_from_events(tmp_path):
    store = FileUsage(tmp_path, Threads(), lambda: NOW)
    await store.add([call(age=5 * DAY)])
    assert (await store.summarize(None)).total().calls == 1
    (summary,) = tmp_path.glob("*.json")
    summary.write_text('{"bytes": "x"')
    assert (await FileUsage(tmp_path, Threads(), lambda: NOW).summarize(None)).total().calls == 1
    assert UsageSummary.from_json(orjson.loads(summary.read_bytes())).total().calls == 1


async def test_invalid_lines_and_other_files_are_skipped(tmp_path):
    """An incomplete line, a line of another version, a file that is not ours."""
    store = FileUsage(tmp_path, Threads(), lambda: NOW)
    await store.add([call()])
    (file,) = tmp_path.glob("*.jsonl")
    with file.open("ab") as lines:
        lines.write(b'{"kind":"later"}\n{"kind":"call"}\nnonsense\n{"kind":"call","tool":"x')
    (tmp_path / "notes.json").write_text("mine")
    assert (await store.summarize(None)).total().calls == 1
    await store.add([call()])
    assert (await store.summarize(None)).total().calls == 2
    assert all(line.endswith(b"}\n") or line == b"nonsense\n" for line in file.read_bytes().splitlines(True))


async def test_summary_is_used_if_the_events_are_missing(tmp_path):
    """If the summary is corrupt too, the day counts as empty."""
    store = FileUsage(tmp_path, Threads(), lambda: NOW)
    await store.add([call(), call(age=5 * DAY)])
    assert (await store.summarize(None)).total().calls == 2
    sorted(tmp_path.glob("*.jsonl"))[0].unlink()
    assert (await store.summarize(None)).total().calls == 2
    assert (await store.summarize(NOW - 5 * DAY)).total().calls == 1
    next(tmp_path.glob("*.json")).write_text("damaged")
    assert (await FileUsage(tmp_path, Threads(), lambda: NOW).summarize(None)).total().calls == 1


async def test_events_of_two_days_are_stored_together_or_not_at_all(tmp_path):
    """The caller writes a failed batch again, so a day that was stored would count twice."""
    store = FileUsage(tmp_path, Threads(), lambda: NOW)
    await store.add([call(age=DAY)])
    (first,) = tmp_path.iterdir()
    content = first.read_bytes()
    await store.add([call()])
    (second,) = set(tmp_path.iterdir()) - {first}
    second.unlink()
    second.mkdir()
    batch = [call(), call(age=DAY)]
    with pytest.raises(IsADirectoryError):
        await store.add(batch)
    assert first.read_bytes() == content
    second.rmdir()
    await store.add(batch)
    assert (await store.summarize(None)).total().calls == 3


async def test_counters_accumulate_per_tool_id(counters):
    """Calls of unknown tools are not counted."""
    assert await counters.find(["id"]) == {}
    await counters.add([])
    await counters.add([call(tool_id="id"), call(tool_id="id", age=5), call(tool_id="other"), call()])
    await counters.add([call(tool_id="id", age=9)])
    assert await counters.find(["id", "never"]) == {"id": CallCounter(3, NOW)}
    assert len(await counters.find(["id", "other"] + [str(n) for n in range(2000)])) == 2


async def test_corrupt_counter_file_is_moved(tmp_path):
    """Counting starts again, and the file remains for inspection."""
    file = tmp_path / "counters.sqlite3"
    file.write_bytes(b"this is not a database, only text that is long enough" * 50)
    store = FileCounters(file, Threads())
    await store.add([call(tool_id="id")])
    assert await store.find(["id"]) == {"id": CallCounter(1, NOW)}
    assert len(list(tmp_path.glob("*.corrupt-*"))) == 1


async def test_locked_counter_file_is_not_corrupt(tmp_path, monkeypatch):
    """A lock that another process holds for too long raises, and the file is not moved."""
    import sqlite3

    monkeypatch.setattr("onetool.storage.files.counters.TIMEOUT_S", 0.05)
    store = FileCounters(tmp_path / "counters.sqlite3", Threads())
    await store.add([call(tool_id="id")])
    with sqlite3.connect(tmp_path / "counters.sqlite3") as other:
        other.execute("begin immediate")
        with pytest.raises(StoreUnavailable, match="locked"):
            await store.add([call(tool_id="id")])
    other.close()
    assert not list(tmp_path.glob("*.corrupt-*"))


async def test_corrupt_toggles_raise_instead_of_enabling_tools(tmp_path):
    """The file stays unchanged."""
    toggles = FileToggles(tmp_path / "toggles.json", Threads())
    assert await toggles.read() == {}
    await toggles.set("shell", False)
    assert await toggles.read() == {"shell": False}
    file = tmp_path / "toggles.json"
    file.write_bytes(file.read_bytes()[:-3])
    for attempt in (toggles.read, lambda: toggles.set("x", True)):
        with pytest.raises(ValueError, match="Repair or delete"):
            await attempt()


async def test_rate_limit_allows_a_burst_then_a_steady_rate():
    """Keys that are no longer limited are dropped."""
    clock = [0.0]
    limiter = MemoryRateLimiter(lambda: clock[0])
    assert [await limiter.take("a", 2) for _ in range(3)] == [0.0, 0.0, 30.0]
    clock[0] = 30.0
    assert await limiter.take("a", 2) == 0.0
    assert await limiter.take("a", 2) > 0
    limiter._due = {str(n): 1.0 for n in range(10_000)}
    assert await limiter.take("b", 1) == 0.0
    assert len(limiter._due) == 1
