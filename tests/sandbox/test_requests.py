"""What code in the sandbox asks of its host, besides tool calls."""

import asyncio
import builtins
import threading
from collections.abc import Callable
from concurrent.futures import Future
from typing import Any

import pytest

from onetool.domain.code.check import BUILTINS, MISSING_BUILTINS
from onetool.domain.code.program import parse_program
from onetool.domain.code.sandbox import IMPORTABLE_MODULES, CallOutcome, SandboxJob, SandboxResult
from onetool.sandbox.monty import MontySandbox
from onetool.threads import Threads
from support.waiting import HANG_S, until


class Host:
    """Records how long the code sleeps, and wakes it up at once."""

    def __init__(self) -> None:
        self.sleeps: list[float] = []

    def call(self, name: str, args: Any) -> "Future[CallOutcome]":
        raise AssertionError(name)

    def sleep(self, seconds: float) -> "Future[CallOutcome]":
        self.sleeps.append(seconds)
        done: Future[CallOutcome] = Future()
        done.set_result(CallOutcome())
        return done

    def restore(self, value: Any) -> Any:
        return value


@pytest.fixture(scope="module")
def sandbox():
    threads = Threads()
    sandbox = MontySandbox(threads)
    yield sandbox
    sandbox.close()
    threads.close()


async def run(sandbox: MontySandbox, code: str, host: Host) -> SandboxResult:
    job = SandboxJob(program=parse_program(code, set()), modules={}, host=host)
    return await asyncio.wait_for(sandbox.run(job), HANG_S)


@pytest.mark.parametrize(
    "code", ["import asyncio\nawait asyncio.sleep(45)\n'awake'", "import time\ntime.sleep(45)\n'awake'"]
)
async def test_code_sleeps_as_long_as_it_asks_for(sandbox, code):
    host = Host()
    assert (await run(sandbox, code, host)).output == "awake"
    assert host.sleeps == [45.0]


@pytest.mark.parametrize("module", IMPORTABLE_MODULES)
async def test_every_module_that_is_named_can_be_imported(sandbox, module):
    assert (await run(sandbox, f"import {module}\n'imported'", Host())).output == "imported"


async def test_value_that_is_small_in_memory_but_huge_as_text_is_not_printed(sandbox):
    """The limits of the sandbox end the code; the host does not convert the value."""
    code = "x = [0]\nfor i in range(40):\n    x = [x, x]\nprint(x)"
    assert (await run(sandbox, code, Host())).exception in ("MemoryError", "TimeoutError")


async def test_call_that_starts_while_its_run_is_stopped_is_cancelled(sandbox):
    """The run is stopped after the call has started and before the sandbox knows of it."""
    loop, stopped = asyncio.get_running_loop(), threading.Event()

    def stop() -> None:
        loop.call_soon_threadsafe(task.cancel)
        assert stopped.wait(HANG_S)

    host = StoppingHost(stop)
    job = SandboxJob(program=parse_program("demo.wait()", {"demo"}), modules={"demo": ["wait"]}, host=host)
    task = asyncio.create_task(sandbox.run(job))
    task.add_done_callback(lambda _: stopped.set())
    with pytest.raises(asyncio.CancelledError):
        await task
    await until(host.started.cancelled)


class StoppingHost(Host):
    """Stops the run during its first call, which never finishes."""

    def __init__(self, stop: Callable[[], None]) -> None:
        super().__init__()
        self.started: Future[CallOutcome] = Future()
        self._stop = stop

    def call(self, name: str, args: Any) -> "Future[CallOutcome]":
        self._stop()
        return self.started


async def test_built_in_functions_are_those_that_the_check_knows(sandbox):
    """The check reports a name that the sandbox lacks, and no name that it has."""
    functions = [name for name in dir(builtins) if not name.startswith("_")]
    functions = [name for name in functions if not _is_exception(name)]
    results = {name: await run(sandbox, name, Host()) for name in functions}
    missing = {name for name, result in results.items() if result.exception == "NameError"}
    assert missing | {"open"} == MISSING_BUILTINS & {*functions}
    assert BUILTINS.isdisjoint(missing)


def _is_exception(name: str) -> bool:
    kind = getattr(builtins, name)
    return isinstance(kind, type) and issubclass(kind, BaseException)
