"""Statistics and counters that an earlier version wrote are taken over, each once."""

import json
import shutil
from contextlib import suppress
from pathlib import Path

import pytest

from onetool.domain.usage.summary import DAY, ToolUsage
from onetool.files import sqlite_files
from onetool.storage.files import old_usage as module
from onetool.storage.files.activity import FileActivity
from onetool.storage.files.old_usage import take_over_usage
from onetool.threads import Threads
from storage.interruption import Interruption
from support.activity import add, record

OLD = Path(__file__).parent / "old_usage"
"""Written by the version before the activity file: days, an archive, a day without its events, counters."""
EXPECTED = json.loads((OLD / "expected.json").read_text())
"""What that version showed of them."""
NOW = 1_794_700_000.0


@pytest.fixture
def data(tmp_path):
    shutil.copytree(OLD, tmp_path / "data")
    (tmp_path / "data" / "expected.json").unlink()
    (tmp_path / "state").mkdir()
    return tmp_path / "data"


def activity_file(data):
    return data.parent / "state" / "activity.sqlite3"


async def check(data, added=0):
    """Check that the figures are those of the earlier version, with some calls added, and its files gone."""
    store = FileActivity(activity_file(data), Threads())
    summary = await store.summarize(None)
    names = [name for name in ToolUsage.__slots__ if name != "hours"]
    tools = {tool: {name: getattr(usage, name) for name in names} for tool, usage in summary.tools.items()}
    expected = {**EXPECTED["tools"]}
    expected["x.y"] = expected["x.y"] | {"calls": expected["x.y"]["calls"] + added}
    assert tools == expected
    hours = summary.total().hours
    if not added:
        assert sorted([hour, *counts] for hour, counts in hours.items()) == EXPECTED["hours"]
    assert summary.sessions == EXPECTED["sessions"]
    week = await store.summarize(NOW - 7 * DAY)
    calls = {tool: usage.calls for tool, usage in week.tools.items()}
    assert calls == EXPECTED["week"] | {"x.y": EXPECTED["week"]["x.y"] + added}
    counters = await store.counters(list(EXPECTED["counters"]))
    assert {id_: list(counter) for id_, counter in counters.items()} == EXPECTED["counters"]
    await store.aclose()
    assert list(data.iterdir()) == []


async def test_figures_are_taken_over_once(data):
    for _ in range(2):
        take_over_usage(data, activity_file(data))
        await check(data)


async def test_figures_are_added_to_those_of_calls_since(data):
    store = FileActivity(activity_file(data), Threads())
    await add(store, record("x.y", NOW - 3600, id="1"))
    await store.aclose()
    take_over_usage(data, activity_file(data))
    await check(data, added=1)


@pytest.mark.parametrize("step", range(16))
async def test_interrupted_take_over_continues(data, monkeypatch, step):
    """Before any of its changes of files."""
    counted = Interruption(step).before
    with monkeypatch.context() as patch:
        patch.setattr(Path, "rename", counted(Path.rename))
        patch.setattr(Path, "unlink", counted(Path.unlink))
        patch.setattr(module, "rmtree", counted(remove_files))
        patch.setattr(module.queries, "add_figures", counted(module.queries.add_figures))
        patch.setattr(sqlite_files, "connect_private", counted(sqlite_files.connect_private))
        with suppress(KeyboardInterrupt):
            take_over_usage(data, activity_file(data))
    take_over_usage(data, activity_file(data))
    await check(data)


def remove_files(folder):
    """Remove a directory file by file, so that it can be interrupted."""
    for file in sorted(folder.iterdir()):
        file.unlink()
    folder.rmdir()


async def test_earlier_version_that_runs_again_is_taken_over_again(data):
    """It starts with new files."""
    take_over_usage(data, activity_file(data))
    (data / "usage").mkdir()
    event = {"kind": "call", "tool": "x.y", "at": NOW, "ok": True}
    (data / "usage" / "2026-11-14.jsonl").write_text(json.dumps(event) + "\n" + '{"kind": "ca')
    take_over_usage(data, activity_file(data))
    store = FileActivity(activity_file(data), Threads())
    assert (await store.summarize(None)).tools["x.y"].calls == EXPECTED["tools"]["x.y"]["calls"] + 1
    await store.aclose()


async def test_corrupt_files_are_moved_and_the_rest_is_taken_over(data, caplog):
    (data / "counters.sqlite3").write_bytes(b"no database, but a text that is long enough " * 100)
    (data / "usage" / "archive.json").write_text("{")
    (data / "usage" / "2026-11-09.json").write_text('{"tools": {"x.y": 5}}')
    (data / "usage" / "2026-11-08.jsonl").write_text('5\n{}\n{"kind": "later", "at": 1}\nnonsense\n')
    for _ in range(2):
        take_over_usage(data, activity_file(data))
        store = FileActivity(activity_file(data), Threads())
        calls = {tool: usage.calls for tool, usage in (await store.summarize(None)).tools.items()}
        await store.aclose()
        assert calls == {"x.y": 1, "a.b": 1, "(unknown)": 1}
    assert caplog.text.count("moved corrupt file") == 2
    assert {path.name.partition(".")[0] for path in data.glob("*.corrupt-*")} == {"usage", "counters"}


async def test_days_that_are_in_the_archive_already_count_once(data):
    """The earlier version died before it deleted them."""
    archive = data / "usage" / "archive.json"
    archive.write_text(json.dumps(json.loads(archive.read_text()) | {"added": ["2026-10-01"]}))
    event = {"kind": "call", "tool": "x.y", "at": NOW, "ok": True}
    (data / "usage" / "2026-10-01.jsonl").write_text(json.dumps(event) + "\n")
    take_over_usage(data, activity_file(data))
    await check(data)


def test_files_stay_if_nothing_can_be_written(data, caplog):
    """The next start tries again."""
    activity_file(data).mkdir()
    take_over_usage(data, activity_file(data))
    assert "cannot take over the statistics" in caplog.text
    activity_file(data).rmdir()
    take_over_usage(data, activity_file(data))
    assert list(data.iterdir()) == []
