"""The worker that runs a model's code has less power than we have."""

import asyncio
import os
import sys
from pathlib import Path

import pytest

from onetool.testing import memory_runtime

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="the jail is made of Linux")


def workers() -> list[Path]:
    """Our child processes that run the interpreter."""
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        try:
            parent = int((process / "stat").read_text().rpartition(")")[2].split()[1])
            if parent == os.getpid() and b"monty" in (process / "cmdline").read_bytes():
                found.append(process)
        except (OSError, ValueError, IndexError):
            continue
    return found


async def test_a_worker_has_no_network_and_no_new_privileges():
    """Its network is its own and empty, it can gain nothing, and it opens few files."""
    before = set(workers())
    async with memory_runtime() as ot:
        assert (await ot.run("1 + 1")).data == 2
        (worker,) = set(workers()) - before
        status = (worker / "status").read_text()
        limits = (worker / "limits").read_text()
        network = (worker / "ns" / "net").readlink()
    assert "NoNewPrivs:\t1" in status
    assert "Max open files            64" in limits
    assert "Max core file size        0" in limits
    assert network != Path("/proc/self/ns/net").readlink()


async def test_no_worker_is_left_behind():
    """When the runtime ends, its workers end."""
    before = set(workers())
    async with memory_runtime() as ot:
        await asyncio.gather(*(ot.run("1 + 1") for _ in range(4)))
        assert set(workers()) - before
    assert set(workers()) <= before
