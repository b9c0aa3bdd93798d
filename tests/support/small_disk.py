"""A small disk in memory, for tests that fill it or make it read-only. Needs no privileges."""

import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path

import pytest

from support.waiting import HANG_S

MOUNT = 'mount -t tmpfs -o size="$1" tmpfs "$2" && echo ready && exec cat'
"""Runs until its standard input is closed."""
BLOCK = bytes(4096)


class SmallDisk:
    """A file system that only processes started with `wrapper` see. The test accesses it through `path`."""

    def __init__(self, pid: int, folder: Path) -> None:
        self.folder, self._pid = folder, pid
        self.path = Path(f"/proc/{pid}/root{folder}")

    def wrapper(self, cwd: Path) -> list[str]:
        """Return the words before a command that make it see the disk."""
        return [
            "nsenter",
            f"--target={self._pid}",
            "--user",
            "--mount",
            "--preserve-credentials",
            f"--wd={cwd}",
        ]

    def fill(self) -> None:
        """Fill the disk to the last block."""
        descriptor = os.open(self.path / "filler", os.O_WRONLY | os.O_CREAT)
        try:
            while True:
                os.write(descriptor, BLOCK)
        except OSError:
            pass
        finally:
            os.close(descriptor)

    def free(self) -> None:
        """Make room again."""
        (self.path / "filler").unlink()

    def make_read_only(self) -> None:
        """Remount the disk. No process may have a file open for writing."""
        command = [*self.wrapper(Path("/")), "mount", "-o", "remount,ro", str(self.folder)]
        subprocess.run(command, check=True, timeout=HANG_S)


@contextmanager
def small_disk(folder: Path, size: str = "4m") -> Iterator[SmallDisk]:
    """Mount a disk at a new folder. Skip the test where that is impossible."""
    if not _can_mount():
        pytest.skip("needs user namespaces")
    folder.mkdir(parents=True)
    holder = subprocess.Popen(
        ["unshare", "--map-root-user", "--mount", "sh", "-c", MOUNT, "sh", size, str(folder)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    )
    try:
        assert holder.stdout
        assert holder.stdout.readline() == b"ready\n"
        yield SmallDisk(holder.pid, folder)
    finally:
        holder.communicate(timeout=HANG_S)


@cache
def _can_mount() -> bool:
    command = ["unshare", "--map-root-user", "--mount", "mount", "-t", "tmpfs", "tmpfs", "/tmp"]
    try:
        return subprocess.run(command, capture_output=True, timeout=HANG_S, check=False).returncode == 0
    except OSError:
        return False
