"""Queries of the Linux process table, by environment and by ancestor."""

import time
from collections.abc import Callable, Iterable
from pathlib import Path

from support.waiting import HANG_S


def processes_with_env(text: str) -> set[int]:
    """Return the running processes whose environment contains a text."""
    return {pid for pid in _all_pids() if text.encode() in _read(pid, "environ") and is_running(pid)}


def descendants(ancestor: int) -> set[int]:
    """Return the running children of a process, and their children."""
    children: dict[int, list[int]] = {}
    for pid in _all_pids():
        if stat := _stat(pid):
            children.setdefault(int(stat[1]), []).append(pid)
    found, generation = set[int](), [ancestor]
    while generation:
        generation = [child for parent in generation for child in children.get(parent, ())]
        found.update(generation)
    return {pid for pid in found if is_running(pid)}


def is_running(pid: int) -> bool:
    """Return whether a process exists and is not a zombie."""
    stat = _stat(pid)
    return bool(stat) and stat[0] not in ("Z", "X")


def command_lines(pids: Iterable[int]) -> list[str]:
    """Return the command lines of processes, for error messages."""
    return [f"{pid}: " + _read(pid, "cmdline").replace(b"\0", b" ").decode(errors="replace") for pid in pids]


def wait_until(condition: Callable[[], bool], seconds: float = HANG_S) -> bool:
    """Poll a condition and return whether it became true before the test hangs."""
    end = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > end:
            return False
        time.sleep(0.01)
    return True


def _all_pids() -> list[int]:
    return [int(entry.name) for entry in Path("/proc").iterdir() if entry.name.isdigit()]


def _stat(pid: int) -> list[str]:
    """Return state, parent and the following fields, or nothing if the process is gone."""
    return _read(pid, "stat").decode(errors="replace").rpartition(")")[2].split()


def _read(pid: int, name: str) -> bytes:
    try:
        return Path(f"/proc/{pid}/{name}").read_bytes()
    except OSError:  # the process has ended or belongs to another user
        return b""
