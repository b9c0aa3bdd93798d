"""Calls within a process of their own, which is asked for so many in flight for so many seconds."""

import asyncio
import os
import sys
from collections.abc import AsyncIterator, Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path

from benchmarks.children import answer
from benchmarks.load import FLIGHTS, Ask, Load, drive
from onetool.bootstrap import open_runtime
from onetool.domain import Caller
from onetool.runtime import Runtime
from onetool.settings.configuration import load_configuration
from onetool.settings.places import find_places
from onetool.testing import function_source, memory_runtime

ARGS = {"a": "x", "b": "y", "c": 1, "d": 2.0, "e": True, "f": "z"}
CODE = "1 + 1"
CALLER = Caller(door="python")


async def noop(a: str, b: str = "", c: int = 0, d: float = 0.0, e: bool = False, f: str = "") -> str:
    """Do nothing, and let others go on meanwhile."""
    await asyncio.sleep(0)
    return a


@asynccontextmanager
async def function() -> AsyncIterator[Ask]:
    """The bare function behind a check of its arguments."""
    import jsonschema_rs

    async with memory_runtime({"bench": [noop]}) as ot:
        tool = await ot.runtime.catalog.find("bench.noop")
    assert tool
    validator = jsonschema_rs.validator_for(dict(tool.spec.input_schema))

    async def ask() -> None:
        validator.validate(ARGS)
        await noop(**ARGS)  # type: ignore[arg-type]

    yield ask


@asynccontextmanager
async def memory() -> AsyncIterator[Ask]:
    """The corridor, in memory."""
    async with memory_runtime({"bench": [noop]}) as ot:
        yield _calling(ot.runtime)


@asynccontextmanager
async def disk() -> AsyncIterator[Ask]:
    """The corridor as it is served: it looks at files before each call, logs and counts."""
    places = find_places(os.environ, Path.cwd())
    async with open_runtime(
        lambda: load_configuration(places, {}), sources=[function_source("bench", [noop])]
    ) as runtime:
        yield _calling(runtime)


@asynccontextmanager
async def monty() -> AsyncIterator[Ask]:
    """The bare interpreter on threads, with its type check, as many workers as OneTool has."""
    from pydantic_monty import Monty

    from onetool.settings.schema import Settings

    loop = asyncio.get_running_loop()
    with (
        ThreadPoolExecutor(max(FLIGHTS)) as threads,
        Monty(min_processes=1, max_processes=Settings().execution.max_runs) as pool,
    ):

        def once() -> None:
            with pool.checkout(type_check=True) as session:
                session.feed_run(CODE)

        yield lambda: loop.run_in_executor(threads, once)


@asynccontextmanager
async def run() -> AsyncIterator[Ask]:
    """`run`: the code read, checked, run, its result masked and measured."""
    async with memory_runtime() as ot:

        async def ask() -> None:
            result = await ot.run(CODE)
            assert result.data == 2, result

        yield ask


KINDS: dict[str, Callable[[], AbstractAsyncContextManager[Ask]]] = {
    kind.__name__: kind for kind in (function, memory, disk, monty, run)
}


def _calling(runtime: Runtime) -> Ask:
    async def ask() -> None:
        result = await runtime.call(runtime.new_call("bench.noop", ARGS, "python"), CALLER)
        assert result.ok, result

    return ask


async def main(kind: str) -> None:
    """Answer loads."""
    async with KINDS[kind]() as ask:

        async def load(flight: str, seconds: str) -> Load:
            return await drive([ask] * int(flight), float(seconds), os.getpid())

        await answer(load)


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1]))
