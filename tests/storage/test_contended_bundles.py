"""Processes that add the same versions and are killed at random: one winner each, nothing lost."""

import json
import random
import signal
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

from onetool.storage.files.bundles.store import FileBundles
from onetool.threads import Threads
from storage.stored_bundles import EVERYTHING, new_bundle
from support.processes import wait_until

HANG_S = 600.0
WRITER = """
import asyncio, random, sys, time
from pathlib import Path
from uuid_utils.compat import uuid7
from onetool.domain.bundles.bundle import AlreadyExists, ToolVersion, rfc3339
from onetool.storage.files.bundles.store import FileBundles
from onetool.threads import Threads

folder, finish, keys, bundles = Path(sys.argv[1]), Path(sys.argv[2]), int(sys.argv[3]), sys.argv[4:]
store, rng = FileBundles(folder, Threads()), random.Random()

async def add(number):
    at = rfc3339(time.time())
    tool = ToolVersion(
        id=str(uuid7()), bundle_id=bundles[number % len(bundles)], slug=f"tool-{number}", version="v1",
        type="python", arg_schema={"type": "object"}, description="x" * rng.randrange(10_000),
        created_at=at, modified_at=at,
    )
    try:
        await store.add_tool(tool, lambda bundle: None)
        outcome = f"won {tool.bundle_id} {tool.slug} {tool.id}"
    except AlreadyExists:
        outcome = "taken"
    sys.stdout.write(outcome + "\\n")
    sys.stdout.flush()

async def main():
    while not finish.exists():
        await add(rng.randrange(keys))
    for number in rng.sample(range(keys), keys):
        await add(number)
    print("done", flush=True)

asyncio.run(main())
"""


@pytest.mark.stress
async def test_each_version_has_one_winner(tmp_path, size):
    """Each key has exactly one tool, and every reported win is stored."""
    folder, finish, keys = tmp_path / "bundles", tmp_path / "finish", size(300, 2000)
    bundles = [(await new_bundle(FileBundles(folder, Threads()), "contended")).id for _ in range(5)]
    outputs = [tmp_path / f"writer-{index}" for index in range(size(4, 8))]
    arguments = [str(folder), str(finish), str(keys), *bundles]
    writers = [_start(output, arguments) for output in outputs]
    try:
        _kill_at_random(writers, outputs, arguments, size(6, 60))
        finish.touch()
        assert [writer.wait(HANG_S) for writer in writers] == [0] * len(writers)
    finally:
        for writer in writers:
            writer.kill()
            writer.wait()
    lines = [line.split() for output in outputs for line in output.read_text().splitlines()]
    won = [(line[1], line[2], line[3]) for line in lines if line[0] == "won" and len(line) == 4]
    assert max(Counter(win[:2] for win in won).values()) == 1
    await _check_files(folder, won, keys)


def _start(output: Path, arguments: list[str]) -> "subprocess.Popen[bytes]":
    with output.open("ab") as file:
        return subprocess.Popen([sys.executable, "-c", WRITER, *arguments], stdout=file)


def _kill_at_random(writers, outputs, arguments, kills: int) -> None:
    """Kill and restart writers, each after it has tried to add a random number of versions."""
    rng = random.Random()
    for _ in range(kills):
        index = rng.randrange(len(writers))
        _wait_for_lines(outputs[index], rng.randrange(1, 20))
        writers[index].send_signal(signal.SIGKILL)
        assert writers[index].wait() == -signal.SIGKILL
        writers[index] = _start(outputs[index], arguments)


def _wait_for_lines(output: Path, more: int) -> None:
    """Wait until a writer has printed this many more lines."""
    enough = output.read_bytes().count(b"\n") + more
    assert wait_until(lambda: output.read_bytes().count(b"\n") >= enough, HANG_S), "the writers hang"


async def _check_files(folder: Path, won: list[tuple[str, str, str]], keys: int) -> None:
    files = [file for file in folder.glob("*-*/*.json") if file.name != "bundle.json"]
    stored = [json.loads(file.read_bytes()) for file in files]
    ids = {(tool["bundleID"], tool["slug"]): tool["id"] for tool in stored}
    assert len(ids) == len(stored) == keys
    assert {(bundle, slug): ids[bundle, slug] for bundle, slug, _ in won} == {(b, s): i for b, s, i in won}
    fresh = FileBundles(folder, Threads())
    listed, cursor = [], None
    while True:
        page = await fresh.tools(EVERYTHING, cursor, 200)
        listed += [item.tool.to_json() | {"schemaVersion": 1} for item in page.items]
        cursor = page.next
        if cursor is None:
            break
    assert sorted(listed, key=lambda tool: tool["id"]) == sorted(stored, key=lambda tool: tool["id"])
    assert fresh.problems == []
    assert not list((folder / ".pending").glob("*"))
