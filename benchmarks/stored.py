"""What many stored tools cost: start-up, a page, a search, a call, at 100 and at 100,000 tools."""

import asyncio
import random
import statistics
import sys
import time
from collections.abc import Awaitable, Callable
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import orjson
from uuid_utils.compat import uuid7

from onetool.bootstrap import open_runtime
from onetool.domain.bundle import Bundle, Filter, ToolVersion, rfc3339
from onetool.domain.caller import Caller, grant
from onetool.runtime import Runtime
from onetool.settings.configuration import load_configuration
from onetool.settings.places import Places
from onetool.storage.flat_file_bundles import FlatFileBundles

FEW, MANY = 100, 100_000
IN_A_BUNDLE = 1_000
TIMES = 60
VERBS = ("get", "list", "create", "delete", "update", "search", "fetch", "export", "sync", "check")
NOUNS = ("page", "issue", "file", "user", "order", "ticket", "branch", "message", "report", "table")


def measure(few: int = FEW, many: int = MANY) -> None:
    """Print each figure at both sizes, and how much the large one takes more."""
    with TemporaryDirectory() as folder:
        found = [asyncio.run(_at(Path(folder) / str(size), size)) for size in (few, many)]
    print(f"\n{'stored tools':<28} {few:>12,} {many:>12,} {'ratio':>8}")
    for what in found[0]:
        small, large = found[0][what], found[1][what]
        print(f"{what:<28} {small * 1000:>9.2f} ms {large * 1000:>9.2f} ms {large / small:>7.2f}x")


async def _at(root: Path, size: int) -> dict[str, float]:
    places = Places(config=root / "config", data=root / "data", state=root / "state", cwd=root)
    (root / "config").mkdir(parents=True)
    _fill(places.data / "bundles", size)
    start = time.perf_counter()
    FlatFileBundles(places.data / "bundles").count()
    figures = {"index made anew, once": time.perf_counter() - start}
    start = time.perf_counter()
    async with open_runtime(lambda: load_configuration(places, {})) as runtime:
        await _call(runtime, size)
        figures["start to first call"] = time.perf_counter() - start
        everything = Filter(include_disabled=True)
        figures |= await _timed("page of 25", lambda: runtime.bundles.list_tools(everything, None, 25))
        words = iter(_queries())
        figures |= await _timed("search", lambda: runtime.bundles.search(next(words), everything))
        figures |= await _timed("call of a stored tool", lambda: _call(runtime, size))
    return figures


async def _timed(what: str, work: Callable[[], Awaitable[Any]]) -> dict[str, float]:
    await work()
    times = []
    for _ in range(TIMES):
        start = time.perf_counter()
        await work()
        times.append(time.perf_counter() - start)
    return {f"{what}, p50": statistics.median(times), f"{what}, p95": sorted(times)[int(TIMES * 0.95)]}


async def _call(runtime: Runtime, size: int) -> None:
    caller = Caller(door="python", approve=grant)
    name = f"bundle_{(size - 1) // IN_A_BUNDLE}.{_slug(size - 1).replace('-', '_')}"
    result = await runtime.call(runtime.new_call(name, {"message": "hi"}, "python"), caller)
    if not result.ok:
        raise SystemExit(f"{name} failed: {result.error}")


def _queries() -> list[str]:
    chance = random.Random(2)
    kinds = (
        lambda: chance.choice(NOUNS),
        lambda: f"{chance.choice(VERBS)} {chance.choice(NOUNS)}",
        lambda: "raed flie",
    )
    return [chance.choice(kinds)() for _ in range(TIMES + 1)]


def _slug(number: int) -> str:
    return f"{VERBS[number % 10]}-{NOUNS[number // 10 % 10]}-{number}"


def _fill(folder: Path, size: int) -> None:
    """Write the files as they would be, without waiting for the disk."""
    at = rfc3339(time.time())
    for first in range(0, size, IN_A_BUNDLE):
        bundle = Bundle(id=str(uuid7()), slug=f"bundle-{first // IN_A_BUNDLE}", created_at=at, modified_at=at)
        _write(folder / bundle.id / "bundle.json", bundle.to_json())
        for number in range(first, min(first + IN_A_BUNDLE, size)):
            tool = ToolVersion(
                id=str(uuid7()),
                bundle_id=bundle.id,
                slug=_slug(number),
                version="v1",
                type="python",
                arg_schema={"type": "object", "properties": {"message": {}}},
                python_impl={"func": "tools.echo"},
                description=f"{_slug(number).replace('-', ' ')} of the {NOUNS[number % 7]} service",
                created_at=at,
                modified_at=at,
            )
            _write(folder / bundle.id / f"{tool.id}.json", tool.to_json())


def _write(file: Path, said: dict[str, Any]) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes(orjson.dumps({"schemaVersion": 1, **said}))


if __name__ == "__main__":
    measure(*map(int, sys.argv[1:]))
