"""Errors, log lines and cancellations of a pack in its worker, and what is left of ended workers."""

import asyncio
import gc
import os
import weakref
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from onetool.bootstrap import open_runtime
from onetool.domain.calls.call import ToolResult
from onetool.domain.calls.caller import Caller
from onetool.runtime.runtime import Runtime
from onetool.settings.configuration import load_configuration
from onetool.settings.paths import find_paths
from onetool.sources.python_packs.description import PackDescription
from onetool.sources.python_packs.environments import PackEnvironments
from onetool.sources.python_packs.script_metadata import ScriptMetadata
from onetool.sources.python_packs.worker import PackWorker
from onetool.sources.python_packs.workers import PackWorkers
from onetool.threads import Threads
from support.user_home import Home
from support.waiting import HANG_S, until

CODE = """# /// script
# dependencies = []
# ///
import gc, logging, os, sys, time
from pathlib import Path
from onetool.domain.calls.invocation import CancelFlag
from onetool.sdk import list_tools

if Path("armed").exists():
    Path("importing").touch()
    while not any(isinstance(found, CancelFlag) and found.is_set for found in gc.get_objects()):
        time.sleep(0.01)

def pid() -> int:
    return os.getpid()

def touch() -> None:
    Path("touched").touch()

def unknown_type() -> str:
    import onetool.domain.tools.tool as module
    del module.ToolSpec
    try:
        list_tools("p.pid")
    except AttributeError:
        return "caught"

def faulty_log() -> str:
    logging.getLogger("p").warning("%d", "text")
    return "logged"

def say() -> None:
    print("earlier words", file=sys.stderr, flush=True)

def die() -> None:
    print("last words", file=sys.stderr, flush=True)
    os._exit(7)
"""


@asynccontextmanager
async def pack(home: Home) -> AsyncIterator[Runtime]:
    home.write("onetool.yaml", f"execution: {{timeout_s: {HANG_S}}}\n")
    home.write("tools/p.py", CODE)
    paths = find_paths(home.env, home.cwd)
    async with open_runtime(lambda: load_configuration(paths, {})) as ot, asyncio.timeout(HANG_S):
        yield ot


async def call(ot: Runtime, name: str) -> ToolResult:
    return await ot.call_tool(name, {}, Caller(interface="python"), "python")


async def test_call_cancelled_during_the_import_does_not_run(home):
    async with pack(home) as ot:
        await ot.state.catalog.specs()  # the inspection imports the file too
        (home.cwd / "armed").touch()
        running = asyncio.create_task(call(ot, "p.touch"))
        await until((home.cwd / "importing").exists)
        running.cancel()  # the import ends once the worker has received this
        for _ in range(3):
            assert (await call(ot, "p.pid")).ok
        assert not (home.cwd / "touched").exists()


async def test_response_that_the_worker_cannot_load_is_an_error_of_the_sdk_call(home):
    async with pack(home) as ot:
        assert (await call(ot, "p.unknown_type")).data == "caught"


async def test_faulty_log_line_does_not_fail_the_tool(home):
    async with pack(home) as ot:
        assert (await call(ot, "p.faulty_log")).data == "logged"


async def test_crash_shows_no_output_of_earlier_calls(home):
    async with pack(home) as ot:
        assert (await call(ot, "p.say")).ok
        message = (await call(ot, "p.die")).error.message
    assert "last words" in message
    assert "earlier words" not in message


@pytest.mark.linux
async def test_ended_worker_is_not_signalled(tmp_path, monkeypatch):
    """Its number may belong to another process."""
    load = {"load": str(tmp_path / "p.py"), "source": b"", "digest": "0" * 64, "tools": []}

    async def run_sdk(*_args: object) -> None:
        """Never called."""

    worker = PackWorker("p", load, tmp_path, run_sdk, Threads())
    await worker.start()
    worker.kill()
    await until(lambda: worker.has_ended)
    signals: list[int] = []
    monkeypatch.setattr(os, "killpg", lambda pid, _number: signals.append(pid))
    worker.kill()
    await worker.close()
    assert signals == []


def test_replaced_version_of_a_file_is_not_kept(tmp_path):
    class Tools(list[dict[str, object]]):
        """A list that can be referred to weakly."""

    threads, script = Threads(), ScriptMetadata(())

    async def run_sdk(*_args: object) -> None:
        """Never called."""

    workers = PackWorkers(PackEnvironments(tmp_path, threads), run_sdk, threads)
    entries = Tools()
    description = PackDescription(pack="p", docs_url="", tools=entries, invalid=[])
    made = workers.make_tools(Path("p.py"), b"1", "1", script, description)
    kept = weakref.ref(entries)
    del made, description, entries
    gc.collect()
    assert kept() is None
