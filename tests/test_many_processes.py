"""Concurrent writes by several processes, two of which are killed."""

import json
import random
import signal
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from onetool.domain.activity.record import ActivityFilter
from onetool.domain.bundles.derived_ids import derived_id
from onetool.storage.files.activity import FileActivity
from onetool.storage.files.results import FileResults
from onetool.threads import Threads
from support.processes import wait_until

HANG_S = 300.0
WRITER = """
import asyncio, os, sys
from pathlib import Path
from onetool.bootstrap import open_runtime
from onetool.domain.calls.caller import Caller
from onetool.domain.calls.effect import Effect
from onetool.settings.configuration import load_configuration
from onetool.settings.paths import find_paths

def acknowledge(kind, value):
    sys.stdout.write(f"{kind} {value}\\n")
    sys.stdout.flush()

async def main():
    paths = find_paths(os.environ, Path.cwd())
    async with open_runtime(lambda: load_configuration(paths, os.environ)) as runtime:
        caller = Caller(interface="python", default_effect=Effect.ALLOW)
        number = 0
        acknowledge("ready", os.getpid())
        while True:
            number += 1
            echo = await runtime.call_tool("tools.echo", {"message": number}, caller, "python")
            await runtime.recorder.flush()
            acknowledge("event", echo.meta.call_id)
            text = f"{os.getpid()} {number}\\n" * 2000
            stored = await runtime.state.results.put(text, "x", owner="local")
            acknowledge("result", f"{stored.handle} {number}")
            message = f"{os.getpid()}:{number} " + "note # \\\\ {x} 😀 " * 700
            note = {"topic": "notes", "message": message}
            result = await runtime.call_tool("ot.notify", note, caller, "python")
            assert result.data.startswith("OK: "), result
            acknowledge("note", f"{os.getpid()}:{number}")

asyncio.run(main())
"""


@pytest.mark.stress
async def test_acknowledged_writes_survive_killed_processes(home, size, tmp_path):
    """Every call, result and note that a process acknowledged is stored, and every file parses."""
    notes = tmp_path / "notes.yaml"
    home.write("onetool.yaml", f"topics: [{{pattern: notes, file: {notes}}}]\nlog: {{file: false}}\n")
    outputs = [tmp_path / f"writer-{index}" for index in range(size(4, 10))]
    writers = [_start(output) for output in outputs]
    try:
        for output in outputs:
            _wait_for_lines([output], 1)
        _kill_two(writers, outputs, size(300, 3000))
    finally:
        for writer in writers:
            writer.send_signal(signal.SIGKILL)
            writer.wait()
    acknowledged = [line.split() for output in outputs for line in output.read_text().splitlines()]
    by_kind = {
        kind: [line[1:] for line in acknowledged if line[0] == kind] for kind in ("event", "result", "note")
    }
    assert min(map(len, by_kind.values())) > 20
    await _check_records(home.root / "state", {call_id for (call_id,) in by_kind["event"]})
    await _check_results(home.root / "data" / "results", by_kind["result"])
    _check_notes(notes, {name for (name,) in by_kind["note"]})


def _start(output: Path) -> "subprocess.Popen[bytes]":
    with output.open("wb") as file:
        return subprocess.Popen([sys.executable, "-c", WRITER], stdout=file)


def _wait_for_lines(outputs: list[Path], number: int) -> None:
    """Wait until these writers have acknowledged this many writes."""
    assert wait_until(
        lambda: sum(output.read_bytes().count(b"\n") for output in outputs) >= number, HANG_S
    ), "the writers hang"


def _kill_two(writers: "list[subprocess.Popen[bytes]]", outputs: list[Path], total: int) -> None:
    """Kill two writers at random moments, and let the others run until that many writes are acknowledged."""
    rng = random.Random()
    moments = sorted(rng.randrange(20, total) for _ in range(2))
    for moment, writer in zip(moments, writers, strict=False):
        _wait_for_lines(outputs, moment)
        writer.kill()
        writer.wait()
    _wait_for_lines(outputs, total)
    assert {writer.poll() for writer in writers[2:]} == {None}, "a writer ended unexpectedly"


async def _check_records(state: Path, expected: set[str]) -> None:
    """Each acknowledged call has one record, and the figures are those of the records."""
    store, ids, cursor = FileActivity(state / "activity.sqlite3", Threads()), list[str](), None
    while not ids or cursor is not None:
        page = await store.page(ActivityFilter(tool="tools.echo"), cursor, 1_000)
        ids, cursor = ids + [record.id for record in page.items], page.next
    assert len(set(ids)) == len(ids)
    assert expected <= set(ids)
    assert (await store.summarize(None)).tools["tools.echo"].calls == len(ids)
    counters = await store.counters([derived_id("tool", "tools.echo")])
    assert next(iter(counters.values())).calls == len(ids)
    assert not list(state.glob("*.corrupt-*"))


async def _check_results(folder: Path, expected: list[list[str]]) -> None:
    results = FileResults(folder, Threads())
    for handle, number in expected:
        text = await results.text(handle, reader="local")
        assert text is not None
        assert text.splitlines()[-1].endswith(f" {number}")
    assert all(json.loads(file.read_bytes())["handle"] == file.stem for file in folder.glob("*.json"))


def _check_notes(file: Path, expected: set[str]) -> None:
    content = file.read_bytes()
    whole = content[: content.rfind(b"\n") + 1]
    assert content.count(b"\n") == whole.count(b"\n")
    messages = [document["message"] for document in yaml.load_all(whole, yaml.CSafeLoader)]
    assert expected <= {message.split()[0] for message in messages}
    assert all(message.endswith("note # \\ {x} 😀 ") for message in messages)
