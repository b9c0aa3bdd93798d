"""Programs of our own that measure within themselves: a line asks, a line of JSON answers."""

import asyncio
import json
import sys
from asyncio.subprocess import Process
from collections.abc import Awaitable, Callable
from typing import Any


def child(module: str, *args: object) -> list[str]:
    """The command of such a program."""
    return [sys.executable, "-m", f"benchmarks.{module}", *map(str, args)]


async def asked(process: Process, *words: object) -> Any:
    """Ask a child, and wait for its answer."""
    assert process.stdin
    assert process.stdout
    process.stdin.write(" ".join(map(str, words)).encode() + b"\n")
    line = await process.stdout.readline()
    if not line:
        raise SystemExit("a program that measures has ended: see what it said above")
    return json.loads(line)


async def answer(work: Callable[..., Awaitable[Any]]) -> None:
    """Be such a program: answer until stdin is closed."""
    while line := await asyncio.to_thread(sys.stdin.readline):
        print(json.dumps(await work(*line.split())), flush=True)
