"""Files below a root, while another process exchanges a part of their path with a link that leads outside."""

import json
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest

from onetool.sdk import write_allowed
from onetool.testing import memory_runtime
from support.waiting import HANG_S

PROGRAM = Path(__file__).with_name("path_races.py")


@pytest.mark.guards("model-arguments")
@pytest.mark.linux
@pytest.mark.parametrize("openat2", [True, False], ids=["openat2", "walk"])
def test_no_exchange_of_a_directory_with_a_link_leads_out_of_the_root(tmp_path, size, openat2):
    """Reading, listing, writing and queries stay in the root, with openat2 and on a kernel without it."""
    root, outside = tmp_path / "root", tmp_path / "outside"
    for folder in (root / "share" / "d", outside):
        folder.mkdir(parents=True)
    (root / "share" / "d" / "f").write_text("plain")
    (root / "share" / "link").symlink_to(outside)
    (outside / "f").write_text("secret")
    (outside / "only-outside").touch()
    for folder, place in ((root / "share" / "d", "inside"), (outside, "outside")):
        with closing(sqlite3.connect(folder / "places.db", isolation_level=None)) as connection:
            connection.execute("CREATE TABLE places (place)")
            connection.execute("INSERT INTO places VALUES (?)", [place])
    count = size(400, 5_000)
    plan = {"root": str(root), "reads": count, "writes": count, "queries": count // 4, "openat2": openat2}
    command = [sys.executable, PROGRAM, json.dumps(plan)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=size(1, 20) * HANG_S, check=False)
    assert done.returncode == 0, done.stderr
    report = json.loads(done.stdout)
    print(report)  # with --stress, the counts are of interest
    found = report["found"]
    assert (report["openat2"], report["status"]) == (openat2, 0)
    assert [found[kind].get("outside", 0) for kind in ("read", "list", "query")] == [0, 0, 0]
    assert sorted(path.name for path in outside.iterdir()) == ["f", "only-outside", "places.db"]
    assert (outside / "f").read_text() == "secret"
    assert found["read"]["inside"] > 0
    assert found["write"]["written"] > 0
    assert found["query"]["inside"] > 0
    written = [path.name for folder in (root / "share").iterdir() for path in folder.iterdir()]
    assert len([name for name in written if name.isdigit()]) == found["write"]["written"]


async def test_directory_that_is_exchanged_after_the_check_is_written_where_it_was(tmp_path):
    root, outside = tmp_path / "root", tmp_path / "outside"
    for folder in (root / "d", outside):
        folder.mkdir(parents=True)
    (root / "d" / "f").write_text("old")

    def exchange(head: bytes) -> bool:
        (root / "d").rename(root / "moved")
        (root / "d").symlink_to(outside)
        return True

    def work() -> None:
        write_allowed("d/f", b"new", may_replace=exchange)

    async with memory_runtime({"demo": [work]}, cwd=root) as ot:
        assert (await ot.call("demo.work")).ok
    assert (root / "moved" / "f").read_text() == "new"
    assert list(outside.iterdir()) == []
