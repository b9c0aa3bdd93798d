"""What code in the sandbox asks of its host, besides tool calls."""

import asyncio
from concurrent.futures import Future
from typing import Any

import pytest

from onetool.domain.code.program import parse_program
from onetool.domain.code.sandbox import IMPORTABLE_MODULES, CallOutcome, SandboxJob, SandboxResult
from onetool.sandbox.monty import MontySandbox
from onetool.threads import Threads
from support.waiting import HANG_S


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


async def test_sleep_over_the_limit_is_an_error(sandbox):
    host = Host()
    result = await run(sandbox, "import asyncio\nawait asyncio.sleep(61)", host)
    assert (result.exception, host.sleeps) == ("TimeoutError", [])
    assert result.error.startswith("line 2: TimeoutError: sleep limit exceeded")


@pytest.mark.parametrize("module", IMPORTABLE_MODULES)
async def test_every_module_that_is_named_can_be_imported(sandbox, module):
    assert (await run(sandbox, f"import {module}\n'imported'", Host())).output == "imported"


async def test_value_that_is_small_in_memory_but_huge_as_text_is_not_printed(sandbox):
    """The limits of the sandbox end the code; the host does not convert the value."""
    code = "x = [0]\nfor i in range(40):\n    x = [x, x]\nprint(x)"
    assert (await run(sandbox, code, Host())).exception in ("MemoryError", "TimeoutError")
