"""How much a process and its children have computed and transferred, from /proc."""

from collections import defaultdict
from pathlib import Path

PROC = Path("/proc")
PARENT, USER_TIME, SYSTEM_TIME = 1, 11, 12
"""Fields of /proc/PID/stat after the name of the program."""
TRANSFERRED = (b"rchar", b"wchar")


def process_activity(root: int) -> int:
    """Return the sum of CPU ticks and transferred bytes of a process tree; 0 where there is no /proc."""
    try:
        stats = {int(path.name): _stat(path) for path in PROC.iterdir() if path.name.isdecimal()}
    except OSError:
        return 0
    children = defaultdict(list)
    for pid, fields in stats.items():
        if fields:
            children[int(fields[PARENT])].append(pid)
    total, pending = 0, [root]
    while pending:
        pid = pending.pop()
        pending += children.pop(pid, ())
        if fields := stats.get(pid, []):
            total += int(fields[USER_TIME]) + int(fields[SYSTEM_TIME]) + _transferred(pid)
    return total


def _stat(directory: Path) -> list[bytes]:
    try:
        return (directory / "stat").read_bytes().rpartition(b")")[2].split()
    except OSError:  # it has exited
        return []


def _transferred(pid: int) -> int:
    """Return the bytes that a process read and wrote, sockets included."""
    try:
        lines = (PROC / str(pid) / "io").read_bytes().splitlines()
    except OSError:  # it has exited, or belongs to another user
        return 0
    fields = dict(line.split(b": ") for line in lines)
    return sum(int(fields.get(name, 0)) for name in TRANSFERRED)
