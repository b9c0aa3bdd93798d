"""Child processes that measure themselves: each request is a line, each response a line of JSON."""

import asyncio
import json
import sys
from asyncio.subprocess import Process
from collections.abc import Awaitable, Callable
from typing import Any


def child_command(module: str, *args: object) -> list[str]:
    """Return the command of a child process."""
    return [sys.executable, "-m", f"benchmarks.{module}", *map(str, args)]


async def request(process: Process, *words: object) -> Any:
    """Send a request to a child process and return its response."""
    assert process.stdin
    assert process.stdout
    process.stdin.write(" ".join(map(str, words)).encode() + b"\n")
    line = await process.stdout.readline()
    if not line:
        raise SystemExit("A child process exited. See its output above.")
    return json.loads(line)


async def serve(handle: Callable[..., Awaitable[Any]]) -> None:
    """Handle requests until stdin is closed."""
    while line := await asyncio.to_thread(sys.stdin.readline):
        print(json.dumps(await handle(*line.split())), flush=True)
