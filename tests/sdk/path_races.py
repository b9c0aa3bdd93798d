"""Uses files while another process exchanges a directory with a link: `path_races.py JSON`.

The argument has `root`, `reads`, `writes`, `queries`, and `openat2`: whether the kernel may offer that system
call. Prints what was reached, as JSON.
"""

import asyncio
import ctypes
import json
import multiprocessing
import os
import sys
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

from onetool.linux import openat2, privileges, seccomp
from onetool.packs import fs
from onetool.sdk import tool
from onetool.starter_packs import file
from onetool.testing import memory_runtime

AT_FDCWD, RENAME_EXCHANGE = -100, 2
TIMEOUT_S = 900


def exchange(first: str, second: str, is_ready: Any, is_finished: Any) -> None:
    """Exchange two names until the parent has finished."""
    libc = ctypes.CDLL(None, use_errno=True)
    names = AT_FDCWD, os.fsencode(first), AT_FDCWD, os.fsencode(second)
    while not is_finished.is_set():
        if libc.renameat2(*names, RENAME_EXCHANGE):
            raise OSError(ctypes.get_errno(), "renameat2")
        is_ready.set()


def hide_openat2() -> None:
    """Make the kernel deny that it has the system call."""
    privileges.deny_new_privileges()
    seccomp.install(seccomp.build_filter(seccomp.on_call("openat2", seccomp.UNKNOWN)))


def attempt(function: Callable[[], Any]) -> str:
    """Return what a tool returned, or the name of its error."""
    try:
        return json.dumps(function())
    except OSError as error:
        return type(error).__name__


def count_reached(reads: int, writes: int) -> dict[str, dict[str, int]]:
    """Call the tools, and count what they returned or raised."""
    found: dict[str, Counter[str]] = {"read": Counter(), "list": Counter(), "write": Counter()}
    for number in range(reads):
        read = (fs.read_file, file.read)[number % 2]
        result = attempt(lambda read=read: read("share/d/f"))
        kind = "outside" if "secret" in result else "inside" if "plain" in result else result
        found["read"][kind] += 1
        if number % 10 == 0:
            result = attempt(lambda: fs.list_dir("share", recursive=True))
            found["list"]["outside" if "only-outside" in result else "inside"] += 1
    for number in range(writes):
        result = attempt(lambda name=f"share/d/{number}": file.write(name, "new"))
        found["write"]["written" if "Wrote" in result else result] += 1
    return {name: dict(counts) for name, counts in found.items()}


async def main() -> None:
    """Run the tools beside the process that exchanges the names."""
    plan = json.loads(sys.argv[1])
    if not plan["openat2"]:
        hide_openat2()
    names = str(Path(plan["root"], "share/d")), str(Path(plan["root"], "share/link"))
    context = multiprocessing.get_context("fork")
    is_ready, is_finished = context.Event(), context.Event()
    process = context.Process(target=exchange, args=(*names, is_ready, is_finished), daemon=True)
    process.start()
    is_ready.wait()
    work = tool(timeout=TIMEOUT_S)(count_reached)
    queried: Counter[str] = Counter()
    async with memory_runtime({"demo": [work]}, cwd=Path(plan["root"])) as ot:
        args = {"reads": plan["reads"], "writes": plan["writes"]}
        result = await ot.call("demo.count_reached", **args)
        for _ in range(plan["queries"]):
            answer = await ot.call("db.query", sql="SELECT place FROM places", database="share/d/places.db")
            queried[answer.data["rows"][0][0] if answer.ok else answer.meta.exception] += 1
    is_finished.set()
    process.join()
    found = result.data | {"query": dict(queried)} if result.ok else {"error": str(result.error)}
    print(json.dumps({"openat2": openat2.is_available(), "status": process.exitcode, "found": found}))


if __name__ == "__main__":
    asyncio.run(main())
