"""Which processes there are, as Linux shows them: by a mark in their environment, and by descent."""

import time
from collections.abc import Callable, Iterable
from pathlib import Path


def marked(mark: str) -> set[int]:
    """Running processes that have a text in their environment."""
    return {pid for pid in _all() if mark.encode() in _read(pid, "environ") and is_running(pid)}


def descendants(ancestor: int) -> set[int]:
    """Running processes that a process has started, and those that they have started."""
    children: dict[int, list[int]] = {}
    for pid in _all():
        if stat := _stat(pid):
            children.setdefault(int(stat[1]), []).append(pid)
    found, new = set[int](), [ancestor]
    while new:
        new = [child for parent in new for child in children.get(parent, ())]
        found.update(new)
    return {pid for pid in found if is_running(pid)}


def is_running(pid: int) -> bool:
    """Whether a process is there and has not ended."""
    stat = _stat(pid)
    return bool(stat) and stat[0] not in ("Z", "X")


def command_lines(pids: Iterable[int]) -> list[str]:
    """What was started, for messages."""
    return [f"{pid}: " + _read(pid, "cmdline").replace(b"\0", b" ").decode(errors="replace") for pid in pids]


def wait_until(holds: Callable[[], bool], seconds: float) -> bool:
    """Whether something that no event tells of comes true in time."""
    end = time.monotonic() + seconds
    while not holds():
        if time.monotonic() > end:
            return False
        time.sleep(0.01)
    return True


def _all() -> list[int]:
    return [int(entry.name) for entry in Path("/proc").iterdir() if entry.name.isdigit()]


def _stat(pid: int) -> list[str]:
    """State, parent and what follows; nothing of a process that is gone."""
    return _read(pid, "stat").decode(errors="replace").rpartition(")")[2].split()


def _read(pid: int, name: str) -> bytes:
    try:
        return Path(f"/proc/{pid}/{name}").read_bytes()
    except OSError:  # it has ended, or is somebody else's
        return b""
