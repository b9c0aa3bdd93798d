"""Calls within one process, for a given concurrency and duration."""

import asyncio
import os
import sys
from collections.abc import AsyncIterator, Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from functools import partial
from pathlib import Path

from benchmarks.children import serve
from benchmarks.load import CONCURRENCY, Load, Request, drive
from onetool.bootstrap import open_runtime
from onetool.domain import Caller
from onetool.runtime.runtime import Runtime
from onetool.settings.configuration import load_configuration
from onetool.settings.paths import find_paths
from onetool.testing import function_source, memory_runtime

ARGS = {"a": "x", "b": "y", "c": 1, "d": 2.0, "e": True, "f": "z"}
PROGRAMS = {
    "call": ("tools.echo(message='hello')", "hello"),
    "loop": (
        """\
lines = []
for name in ['a', 'bb', 'ccc']:
    text = tools.echo(message=name)
    lines.append(str(len(text)) + text)
' '.join(lines)""",
        "1a 2bb 3ccc",
    ),
}
"""Code for `run`, and its result."""
CALLER = Caller(interface="python")


async def noop(a: str, b: str = "", c: int = 0, d: float = 0.0, e: bool = False, f: str = "") -> str:
    """Do nothing, but yield to other tasks."""
    await asyncio.sleep(0)
    return a


@asynccontextmanager
async def function() -> AsyncIterator[Request]:
    """Validate arguments and call the function directly."""
    import jsonschema_rs

    async with memory_runtime({"bench": [noop]}) as ot:
        tool = await ot.runtime.state.catalog.find("bench.noop")
    assert tool
    validator = jsonschema_rs.validator_for(dict(tool.spec.input_schema))

    async def request() -> None:
        validator.validate(ARGS)
        await noop(**ARGS)  # type: ignore[arg-type]

    yield request


@asynccontextmanager
async def memory() -> AsyncIterator[Request]:
    """Call through the pipeline, in memory."""
    async with memory_runtime({"bench": [noop]}) as ot:
        yield _caller(ot.runtime)


@asynccontextmanager
async def disk() -> AsyncIterator[Request]:
    """Call through the pipeline with file checks, logging and statistics."""
    paths = find_paths(os.environ, Path.cwd())
    async with open_runtime(
        lambda: load_configuration(paths, {}), sources=[function_source("bench", [noop])]
    ) as runtime:
        yield _caller(runtime)


@asynccontextmanager
async def monty(program: str) -> AsyncIterator[Request]:
    """Run code in the bare interpreter, with as many workers as OneTool, and a function as the tool."""
    from pydantic_monty import ExternalModule, Monty

    from onetool.settings.schema import Settings

    code, expected = PROGRAMS[program]
    modules = {"tools": ExternalModule({"echo": lambda message: message})}
    loop = asyncio.get_running_loop()
    with (
        ThreadPoolExecutor(max(CONCURRENCY)) as threads,
        Monty(min_processes=1, max_processes=Settings().execution.max_concurrent_runs) as pool,
    ):

        def once() -> None:
            with pool.checkout(external_modules=modules) as session:
                result = session.feed_run(f"import tools\n{code}")
                assert result == expected, result

        yield lambda: loop.run_in_executor(threads, once)


@asynccontextmanager
async def run(program: str) -> AsyncIterator[Request]:
    """Run code with OneTool, including parsing, checks, the pipeline of each call, and recording."""
    code, expected = PROGRAMS[program]
    async with memory_runtime() as ot:

        async def request() -> None:
            result = await ot.run(code)
            assert result.data == expected, result

        yield request


KINDS: dict[str, Callable[[], AbstractAsyncContextManager[Request]]] = {
    **{kind.__name__: kind for kind in (function, memory, disk)},
    **{f"monty-{program}": partial(monty, program) for program in PROGRAMS},
    **{f"run-{program}": partial(run, program) for program in PROGRAMS},
}


def _caller(runtime: Runtime) -> Request:
    async def request() -> None:
        result = await runtime.call_tool("bench.noop", ARGS, CALLER, "python")
        assert result.ok, result

    return request


async def main(kind: str) -> None:
    """Run the child process for one kind of call."""
    async with KINDS[kind]() as request:

        async def load(concurrency: str, seconds: str) -> Load:
            return await drive([request] * int(concurrency), float(seconds), os.getpid())

        await serve(load)


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1]))
