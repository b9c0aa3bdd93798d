"""Signs of life of processes: each one holds the lock of a file, which the operating system releases."""

import math
import os
import re
import secrets
import threading
from collections.abc import Callable, Collection, Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

from onetool.files.atomic import PRIVATE, make_private_dir
from onetool.files.lock import is_locked, is_same_file, locked

SUFFIX = ".lock"
OWNER_ID_BYTES = 16
MAX_TIME_BYTES = 32
OWNER_ID = re.compile(r"[0-9a-f]{32}")


def is_owner_id(text: str) -> bool:
    """Whether a text can be the id of a process: 32 hexadecimal digits."""
    return OWNER_ID.fullmatch(text) is not None


class OwnerLocks:
    """A locked file for each process that owns something. It contains the time at which the process ended.

    The process writes the time when it closes. If it was killed, the first `ended_at` writes it.
    """

    def __init__(self, folder: Path, now: Callable[[], float]) -> None:
        self._folder, self._now = folder, now
        self.id = secrets.token_hex(OWNER_ID_BYTES)
        """The id of this process."""
        self._state_lock = threading.Lock()
        self._descriptor: int | None = None
        self._held = ExitStack()

    def hold(self) -> None:
        """Lock the file of this process, unless it holds the lock already."""
        with self._state_lock:
            while self._descriptor is None:
                make_private_dir(self._folder)
                self._lock(self._file(self.id))

    def _lock(self, file: Path) -> None:
        """Lock the file, unless another process deletes it meanwhile."""
        with ExitStack() as stack:
            descriptor = os.open(file, os.O_RDWR | os.O_CREAT, PRIVATE)
            stack.callback(os.close, descriptor)
            stack.enter_context(locked(descriptor))
            if is_same_file(descriptor, file):
                os.ftruncate(descriptor, 0)
                self._descriptor, self._held = descriptor, stack.pop_all()

    def release(self) -> None:
        """Unlock the file of this process. Do nothing if it is not locked."""
        with self._state_lock:
            if self._descriptor is not None:
                with suppress(OSError):  # a full disk: the first `ended_at` writes the time
                    _write_time(self._descriptor, self._now())
                self._descriptor = None
                self._held.close()

    def is_alive(self, owner: str) -> bool:
        """Return whether a process holds its lock. `owner` must be the id of one."""
        try:
            descriptor = os.open(self._file(owner), os.O_RDONLY)
        except FileNotFoundError:
            return False
        try:
            return is_locked(descriptor)
        finally:
            os.close(descriptor)

    @contextmanager
    def hold_ended(self, owner: str) -> Iterator[bool]:
        """Hold the lock of another process. Yield False if the process is alive or someone else holds it."""
        make_private_dir(self._folder)
        file = self._file(owner)
        with ExitStack() as stack:
            descriptor = os.open(file, os.O_RDWR | os.O_CREAT, PRIVATE)
            stack.callback(os.close, descriptor)
            is_held = False
            with suppress(TimeoutError):
                stack.enter_context(locked(descriptor, timeout_s=0.0))
                is_held = is_same_file(descriptor, file)
            yield is_held

    def ended_at(self, owner: str) -> float | None:
        """Return when a process ended, in seconds since the epoch, or None while it is alive."""
        make_private_dir(self._folder)
        return self._end(owner, delete_before=-math.inf)

    def delete_ended(self, before: float, keep: Collection[str]) -> None:
        """Delete the files of processes that ended before a time, except those in `keep`."""
        with suppress(FileNotFoundError):
            for file in self._folder.glob(f"*{SUFFIX}"):
                if is_owner_id(file.stem) and file.stem not in keep:
                    self._end(file.stem, delete_before=before)

    def _end(self, owner: str, delete_before: float) -> float | None:
        file = self._file(owner)
        descriptor = os.open(file, os.O_RDWR | os.O_CREAT, PRIVATE)
        try:
            with locked(descriptor, timeout_s=0.0):
                ended_at, now = _read_time(descriptor), self._now()
                if not 0 <= ended_at <= now:  # not written yet, or corrupt
                    ended_at = now
                    _write_time(descriptor, ended_at)
                if ended_at < delete_before and os.name != "nt":
                    file.unlink(missing_ok=True)  # while it is locked, so that its process notices it
        except TimeoutError:
            return None
        finally:
            os.close(descriptor)
        if ended_at < delete_before and os.name == "nt":  # pragma: no cover - Windows deletes no open file
            with suppress(OSError):
                file.unlink()
        return ended_at

    def _file(self, owner: str) -> Path:
        return self._folder / f"{owner}{SUFFIX}"


def _read_time(descriptor: int) -> float:
    """Return the time in an open file, or NaN if it contains none."""
    os.lseek(descriptor, 0, os.SEEK_SET)
    try:
        return float(os.read(descriptor, MAX_TIME_BYTES))
    except ValueError:
        return math.nan


def _write_time(descriptor: int, time: float) -> None:
    os.ftruncate(descriptor, 0)
    os.lseek(descriptor, 0, os.SEEK_SET)
    os.write(descriptor, str(time).encode())
