"""One suite for every store of finished calls, and one for every store of counters."""

import orjson
import pytest

from onetool.domain.errors import Reason
from onetool.domain.usage import DAY, HOUR, PERIODS, CallEvent, Counter, Saving, Tally, ToolTally, tokens
from onetool.storage.flat_file_switches import FlatFileSwitches
from onetool.storage.flat_file_usage import FlatFileUsage
from onetool.storage.memory import MemoryCounters, MemoryUsage
from onetool.storage.memory_rates import MemoryRates
from onetool.storage.sqlite_counters import SqliteCounters

NOW = 1_794_700_000.0


@pytest.fixture(params=["memory", "flat file"])
def usage(request, tmp_path):
    return MemoryUsage() if request.param == "memory" else FlatFileUsage(tmp_path / "usage", lambda: NOW)


@pytest.fixture(params=["memory", "sqlite"])
def counters(request, tmp_path):
    return (
        MemoryCounters() if request.param == "memory" else SqliteCounters(tmp_path / "x" / "counters.sqlite3")
    )


def call(tool="x.y", age=0.0, **known):
    return CallEvent(tool=tool, at=NOW - age, **{"ok": True} | known)


def test_calls_add_up_by_tool(usage):
    """Calls, failures, times and hours; calls that no tool answered to are counted together."""
    usage.add([call(duration_ms=10), call(ok=False, duration_ms=30), call("a.b", HOUR)])
    usage.add(
        [call("made up", ok=False, reason=Reason.UNKNOWN), call("too", ok=False, reason=Reason.UNKNOWN)]
    )
    tally = usage.tally(None)
    one = tally.tools["x.y"]
    assert (one.calls, one.failed, one.total_ms, one.max_ms, one.last_at) == (2, 1, 40, 30, NOW)
    assert (one.success_rate, one.mean_ms) == (50.0, 20.0)
    assert one.hours == {int(NOW // HOUR): (2, 1)}
    assert tally.tools["(unknown)"].calls == 2
    assert tally.total().calls == 5
    assert set(tally.only("a.b").tools) == {"a.b"}
    assert tally.only("never").total() == ToolTally()


def test_periods_are_exact_to_the_second(usage):
    """A rolling window cuts through the middle of a day."""
    usage.add([call(age=age) for age in (0, DAY - 1, DAY + 1, 3 * DAY, 10 * DAY, 40 * DAY)])
    found = [usage.tally(None if s is None else NOW - s).total().calls for s in PERIODS.values()]
    assert found == [2, 4, 5, 6]


def test_savings_count_once_a_session(usage):
    """Definitions once for each session, whoever notes them; results and round trips every time."""
    usage.add(
        [Saving("definitions", NOW, "s1", tokens=100), Saving("definitions", NOW - DAY, "s1", tokens=90)]
    )
    usage.add([Saving("definitions", NOW, "s2", tokens=50), Saving("result", NOW, tool="run", tokens=7)])
    usage.add(
        [Saving("calls", NOW, tool="run", round_trips=2), Saving("calls", NOW, tool="run", round_trips=3)]
    )
    total = usage.tally(None).total()
    assert (total.saved_tokens, total.round_trips, total.calls, total.success_rate, total.mean_ms) == (
        157,
        5,
        0,
        0,
        0,
    )
    assert tokens(4001) == 1000


def test_days_that_are_over_are_kept_added_up(tmp_path):
    """The sum replaces the events after 35 days; until then it follows them."""
    store = FlatFileUsage(tmp_path, lambda: NOW)
    store.add(
        [
            call(age=40 * DAY),
            call(age=5 * DAY, duration_ms=5),
            Saving("definitions", NOW - 40 * DAY, "s", tokens=8),
        ]
    )
    before = store.tally(None)
    names = sorted(file.name[10:] for file in tmp_path.iterdir())
    assert names == [".json", ".json", ".jsonl"]
    assert store.tally(None) == before == Tally.from_json(orjson.loads(orjson.dumps(before.to_json())))
    store.add([call(age=5 * DAY)])
    assert store.tally(None).total().calls == 3


def test_a_damaged_sum_is_made_anew(tmp_path):
    """Derived files are never the truth while the events are there."""
    store = FlatFileUsage(tmp_path, lambda: NOW)
    store.add([call(age=5 * DAY)])
    assert store.tally(None).total().calls == 1
    (kept,) = tmp_path.glob("*.json")
    kept.write_text('{"bytes": "x"')
    assert store.tally(None).total().calls == 1
    assert Tally.from_json(orjson.loads(kept.read_bytes())).total().calls == 1


def test_broken_lines_and_strange_files_are_passed_over(tmp_path):
    """Half a line, a line of another version, a file that somebody put there."""
    store = FlatFileUsage(tmp_path, lambda: NOW)
    store.add([call()])
    (file,) = tmp_path.glob("*.jsonl")
    with file.open("ab") as lines:
        lines.write(b'{"kind":"later"}\n{"kind":"call"}\nnonsense\n{"kind":"call","tool":"x')
    (tmp_path / "notes.json").write_text("mine")
    assert store.tally(None).total().calls == 1
    store.add([call()])
    assert store.tally(None).total().calls == 2
    assert all(line.endswith(b"}\n") or line == b"nonsense\n" for line in file.read_bytes().splitlines(True))


def test_a_day_without_its_events(tmp_path):
    """The sum stands for them; where that is damaged too the day counts as empty, and breaks nothing."""
    store = FlatFileUsage(tmp_path, lambda: NOW)
    store.add([call(), call(age=5 * DAY)])
    assert store.tally(None).total().calls == 2
    sorted(tmp_path.glob("*.jsonl"))[0].unlink()
    assert store.tally(None).total().calls == 2
    assert store.tally(NOW - 5 * DAY).total().calls == 1
    next(tmp_path.glob("*.json")).write_text("damaged")
    assert store.tally(None).total().calls == 1


def test_counters_never_forget(counters):
    """By id, over many writes; what no tool answered to is not counted."""
    assert counters.find(["id"]) == {}
    counters.add([])
    counters.add([call(tool_id="id"), call(tool_id="id", age=5), call(tool_id="other"), call()])
    counters.add([call(tool_id="id", age=9)])
    assert counters.find(["id", "never"]) == {"id": Counter(3, NOW)}
    assert len(counters.find(["id", "other"] + [str(n) for n in range(2000)])) == 2


def test_a_damaged_file_of_counters_is_set_aside(tmp_path):
    """Counting begins anew, and the old file is still there to be looked at."""
    file = tmp_path / "counters.sqlite3"
    file.write_bytes(b"this is not a database, only text that is long enough" * 50)
    store = SqliteCounters(file)
    store.add([call(tool_id="id")])
    assert store.find(["id"]) == {"id": Counter(1, NOW)}
    assert len(list(tmp_path.glob("*.damaged-*"))) == 1


def test_a_busy_file_of_counters_is_no_damaged_one(tmp_path, monkeypatch):
    """Somebody else writes for too long: an error, and nothing is set aside."""
    import sqlite3

    monkeypatch.setattr("onetool.storage.sqlite_counters.PATIENCE", 0.05)
    store = SqliteCounters(tmp_path / "counters.sqlite3")
    store.add([call(tool_id="id")])
    with sqlite3.connect(tmp_path / "counters.sqlite3") as other:
        other.execute("begin immediate")
        with pytest.raises(sqlite3.OperationalError, match="locked"):
            store.add([call(tool_id="id")])
    other.close()
    assert not list(tmp_path.glob("*.damaged-*"))


def test_damaged_switches_switch_nothing_on(tmp_path):
    """A file that cannot be read is an error, and stays as it is."""
    switches = FlatFileSwitches(tmp_path / "switches.json")
    assert switches.read() == {}
    switches.set("shell", False)
    assert switches.read() == {"shell": False}
    file = tmp_path / "switches.json"
    file.write_bytes(file.read_bytes()[:-3])
    for attempt in (switches.read, lambda: switches.set("x", True)):
        with pytest.raises(ValueError, match="mend or remove"):
            attempt()


def test_rates_let_a_minute_pass_at_once_and_then_one_by_one():
    """As many as a minute has, and afterwards at its pace; forgotten keys cost nothing."""
    clock = [0.0]
    rates = MemoryRates(lambda: clock[0])
    assert [rates.take("a", 2) for _ in range(3)] == [0.0, 0.0, 30.0]
    clock[0] = 30.0
    assert rates.take("a", 2) == 0.0
    assert rates.take("a", 2) > 0
    rates._due = {str(n): 1.0 for n in range(10_000)}
    assert rates.take("b", 1) == 0.0
    assert len(rates._due) == 1
