"""CPU time of storing tools and of indexing files, compared with plain system calls and SQLite."""

import sqlite3
import time
from collections.abc import Awaitable, Callable
from contextlib import closing
from functools import partial
from itertools import count
from pathlib import Path

import orjson

from benchmarks import store
from benchmarks.figures import ROUNDS, Figure, interleaved
from benchmarks.stored_tools import fill
from onetool.domain.bundles.bundle import Bundle
from onetool.storage.files.bundles.store import FileBundles
from onetool.threads import Threads

WRITES, FILES = 200, 1_000


async def writes(directory: Path) -> Figure:
    """Store tools, and write files of the same size."""
    bundles = FileBundles(directory / "tool", Threads())
    await bundles.change_bundle(store.BUNDLE, lambda _: Bundle(id=store.BUNDLE, slug="bench"))
    bare, tool, numbers = store.bare(directory / "bare"), store.tool(directory / "tool"), count()

    async def write_all(write: store.Write) -> None:
        for _ in range(WRITES):
            await write(f"n{next(numbers)}")

    return await _compare(partial(write_all, bare), partial(write_all, tool))


async def indexing(directory: Path) -> Figure:
    """Index files of tools, and insert the same files into a table."""
    fill(directory / "bundles", FILES)

    async def insert() -> None:
        with closing(sqlite3.connect(":memory:")) as connection:
            connection.execute("create table tools (id text primary key, slug text, body blob)")
            for file in (directory / "bundles").glob("*/*.json"):
                body = file.read_bytes()
                tool = orjson.loads(body)
                connection.execute("insert into tools values (?, ?, ?)", (tool["id"], tool["slug"], body))
            connection.commit()

    async def index() -> None:
        for file in (directory / "bundles").glob("index.sqlite3*"):
            file.unlink()
        bundles = FileBundles(directory / "bundles", Threads())
        assert await bundles.count() == FILES
        await bundles.aclose()

    return await _compare(insert, index)


async def _compare(bare: Callable[[], Awaitable[None]], ours: Callable[[], Awaitable[None]]) -> Figure:
    async def cpu(work: Callable[[], Awaitable[None]]) -> float:
        start = time.process_time()
        await work()
        return time.process_time() - start

    rounds = await interleaved(partial(cpu, bare), partial(cpu, ours), rounds=ROUNDS)
    return Figure(*map(min, rounds))
