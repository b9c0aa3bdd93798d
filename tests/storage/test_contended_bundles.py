"""Many processes that want the same versions, killed at any moment: one winner each, nothing lost."""

import json
import random
import signal
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path

import pytest
from uuid_utils.compat import uuid7

from onetool.domain.bundle import Bundle, Filter, rfc3339
from onetool.storage.flat_file_bundles import FlatFileBundles

WRITER = """
import random, sys, time
from pathlib import Path
from uuid_utils.compat import uuid7
from onetool.domain.bundle import Taken, ToolVersion, rfc3339
from onetool.storage.flat_file_bundles import FlatFileBundles

folder, pairs, puts, bundles = Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3]), sys.argv[4:]
store, chance = FlatFileBundles(folder), random.Random()
for _ in range(puts):
    number = chance.randrange(pairs)
    at = rfc3339(time.time())
    tool = ToolVersion(
        id=str(uuid7()), bundle_id=bundles[number % len(bundles)], slug=f"tool-{number}", version="v1",
        type="python", arg_schema={"type": "object"}, description="x" * chance.randrange(10_000),
        created_at=at, modified_at=at,
    )
    try:
        store.add_tool(tool, lambda bundle: None)
        said = f"won {tool.bundle_id} {tool.slug} {tool.id}"
    except Taken:
        said = "taken"
    sys.stdout.write(said + "\\n")
    sys.stdout.flush()
print("done", flush=True)
"""


@pytest.mark.torture
def test_one_winner_for_each_version(tmp_path, size):
    """However many want it, whoever is killed: each pair has one tool, and who was told it won has won."""
    folder, pairs, puts = tmp_path / "bundles", size(60, 500), size(120, 2000)
    bundles = [_bundle(FlatFileBundles(folder)) for _ in range(5)]
    outputs = [tmp_path / f"writer-{index}" for index in range(size(4, 8))]
    arguments = [str(folder), str(pairs), str(puts), *bundles]
    writers = [_start(output, arguments) for output in outputs]
    kills = _kill_at_random(writers, outputs, arguments, size(6, 60))
    said = [line.split() for output in outputs for line in output.read_text().splitlines()]
    won = [(line[1], line[2], line[3]) for line in said if line[0] == "won" and len(line) == 4]
    assert kills > 0
    assert max(Counter(pair[:2] for pair in won).values()) == 1
    _check_files(folder, won, pairs)


def _bundle(store: FlatFileBundles) -> str:
    bundle = Bundle(id=str(uuid7()), slug="contended", created_at=rfc3339(1), modified_at=rfc3339(1))
    return store.change_bundle(bundle.id, lambda _: bundle).id


def _start(output: Path, arguments: list[str]) -> "subprocess.Popen[bytes]":
    with output.open("ab") as file:
        return subprocess.Popen([sys.executable, "-c", WRITER, *arguments], stdout=file)


def _kill_at_random(writers, outputs, arguments, most: int) -> int:
    """Kill and start again until all have done their work."""
    chance, kills = random.Random(), 0
    end = time.monotonic() + 600
    while any(writer.poll() is None for writer in writers):
        assert time.monotonic() < end, "the writers hang"
        time.sleep(chance.uniform(0.2, 0.6))
        index = chance.randrange(len(writers))
        if kills < most and writers[index].poll() is None:
            writers[index].send_signal(signal.SIGKILL)
            writers[index].wait()
            kills += 1
            writers[index] = _start(outputs[index], arguments)
    assert all(writer.returncode == 0 for writer in writers)
    return kills


def _check_files(folder: Path, won: list[tuple[str, str, str]], pairs: int) -> None:
    files = [file for file in folder.glob("*-*/*.json") if file.name != "bundle.json"]
    held = [json.loads(file.read_bytes()) for file in files]
    by_pair = {(tool["bundleID"], tool["slug"]): tool["id"] for tool in held}
    assert len(by_pair) == len(held) == pairs
    assert {(bundle, slug): by_pair[bundle, slug] for bundle, slug, _ in won} == {
        (b, s): i for b, s, i in won
    }
    fresh = FlatFileBundles(folder)
    listed, cursor = [], None
    while True:
        page = fresh.tools(Filter(include_disabled=True), cursor, 200)
        listed += [one.tool.to_json() | {"schemaVersion": 1} for one in page.items]
        cursor = page.next
        if cursor is None:
            break
    assert sorted(listed, key=lambda tool: tool["id"]) == sorted(held, key=lambda tool: tool["id"])
    assert fresh.problems == []
    assert not list((folder / ".unfinished").glob("*"))
