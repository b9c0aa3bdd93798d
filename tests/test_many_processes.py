"""Ten processes write calls, results and notes at once, two are killed: nothing acknowledged is lost."""

import json
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import orjson
import pytest
import yaml

from onetool.domain.ids import named_id
from onetool.storage.flat_file import FlatFileResults
from onetool.storage.flat_file_usage import FlatFileUsage
from onetool.storage.sqlite_counters import SqliteCounters

WRITER = """
import asyncio, os, sys
from pathlib import Path
from onetool.bootstrap import open_runtime
from onetool.domain.caller import Caller, grant
from onetool.settings.configuration import load_configuration
from onetool.settings.places import find_places

def say(kind, what):
    sys.stdout.write(f"{kind} {what}\\n")
    sys.stdout.flush()

async def main():
    places = find_places(os.environ, Path.cwd())
    async with open_runtime(lambda: load_configuration(places, os.environ)) as runtime:
        caller = Caller(door="python", approve=grant)
        number = 0
        say("ready", os.getpid())
        while True:
            number += 1
            call = runtime.new_call("tools.echo", {"message": number}, "python")
            await runtime.call(call, caller)
            await runtime.flush()
            say("event", call.id)
            text = f"{os.getpid()} {number}\\n" * 2000
            say("result", f"{(await asyncio.to_thread(runtime.results.put, text, 'x')).handle} {number}")
            message = f"{os.getpid()}:{number} " + "note # \\\\ {x} 😀 " * 700
            note = runtime.new_call("ot.notify", {"topic": "notes", "message": message}, "python")
            answer = await runtime.call(note, caller)
            assert answer.data.startswith("OK: "), answer
            say("note", f"{os.getpid()}:{number}")

asyncio.run(main())
"""


@pytest.mark.torture
def test_nothing_acknowledged_is_lost(home, size, tmp_path):
    """What a process was told is kept is there afterwards, whoever was killed; every file parses."""
    notes = tmp_path / "notes.yaml"
    home.write("onetool.yaml", f"topics: [{{pattern: notes, file: {notes}}}]\nlog: {{file: false}}\n")
    outputs = [tmp_path / f"writer-{index}" for index in range(10)]
    writers = [_start(output) for output in outputs]
    try:
        _wait(lambda: all("ready" in output.read_text() for output in outputs))
        _kill_two(writers, size(3, 20))
    finally:
        for writer in writers:
            writer.send_signal(signal.SIGKILL)
            writer.wait()
    acknowledged = [line.split() for output in outputs for line in output.read_text().splitlines()]
    by_kind = {
        kind: [line[1:] for line in acknowledged if line[0] == kind] for kind in ("event", "result", "note")
    }
    assert min(map(len, by_kind.values())) > 20
    _check_events(home.root / "data", {call_id for (call_id,) in by_kind["event"]})
    _check_results(home.root / "data" / "results", by_kind["result"])
    _check_notes(notes, {name for (name,) in by_kind["note"]})


def _start(output: Path) -> "subprocess.Popen[bytes]":
    with output.open("wb") as file:
        return subprocess.Popen([sys.executable, "-c", WRITER], stdout=file)


def _wait(is_so, limit: float = 60.0) -> None:
    end = time.monotonic() + limit
    while not is_so():
        assert time.monotonic() < end, "the writers did not start"
        time.sleep(0.05)


def _kill_two(writers: "list[subprocess.Popen[bytes]]", seconds: float) -> None:
    """Two die somewhere in the middle; the others go on to the end."""
    chance = random.Random()
    moments = sorted(chance.uniform(0.2, 0.8) * seconds for _ in range(2))
    begun = time.monotonic()
    for moment, writer in zip(moments, writers, strict=False):
        time.sleep(max(begun + moment - time.monotonic(), 0))
        writer.kill()
        writer.wait()
    time.sleep(max(begun + seconds - time.monotonic(), 0))
    assert [writer.poll() for writer in writers[2:]] == [None] * 8, "a writer ended by itself"


def _check_events(data: Path, wanted: set[str]) -> None:
    lines = [line for file in (data / "usage").glob("*.jsonl") for line in file.read_bytes().splitlines(True)]
    whole = [orjson.loads(line) for line in lines if line.endswith(b"\n")]
    assert len(lines) - len(whole) <= 1  # the last process may have died while it wrote
    assert wanted <= {event["call_id"] for event in whole}
    total = FlatFileUsage(data / "usage").tally(None).tools["tools.echo"].calls
    assert total >= len(wanted)
    counted = SqliteCounters(data / "counters.sqlite3").find([named_id("tool", "tools.echo")])
    assert next(iter(counted.values())).calls >= len(wanted)


def _check_results(folder: Path, wanted: list[list[str]]) -> None:
    results = FlatFileResults(folder, 3600)
    for handle, number in wanted:
        text = results.text(handle)
        assert text is not None
        assert text.splitlines()[-1].endswith(f" {number}")
    assert all(json.loads(file.read_bytes())["handle"] == file.stem for file in folder.glob("*.json"))


def _check_notes(file: Path, wanted: set[str]) -> None:
    content = file.read_bytes()
    whole = content[: content.rfind(b"\n") + 1]
    assert content.count(b"\n") == whole.count(b"\n")
    messages = [document["message"] for document in yaml.load_all(whole, yaml.CSafeLoader)]
    assert wanted <= {message.split()[0] for message in messages}
    assert all(message.endswith("note # \\ {x} 😀 ") for message in messages)
