"""OAuth tokens of servers, one JSON file per server, readable only by the owner."""

import json
import logging
import os
import threading
from collections.abc import AsyncIterator
from contextlib import ExitStack, asynccontextmanager
from pathlib import Path

from onetool.files.atomic import PRIVATE, PRIVATE_DIR, make_private_dir, sync_directory, write_atomic
from onetool.files.corrupt_files import move_corrupt_file
from onetool.files.lock import locked
from onetool.threads import Threads

from .on_thread import on_thread

log = logging.getLogger(__name__)
TIMEOUT_S = 30.0
"""How long a change waits for another process that is refreshing the same tokens."""


class FileTokens:
    """One JSON file per server. Writes are atomic, and a lock file serializes them across processes."""

    def __init__(self, folder: Path, threads: Threads) -> None:
        self._folder, self._threads = folder, threads

    @on_thread
    def read(self, server: str) -> str | None:
        """Return the stored tokens of a server. A corrupt file is renamed and counts as missing."""
        return _read(self._file(server))

    @asynccontextmanager
    async def exclusive(self, server: str) -> AsyncIterator["LockedTokenFile"]:
        """Lock the tokens of a server against all other processes for the block."""
        tokens = LockedTokenFile(self._file(server), self._threads)
        try:
            await tokens.lock()
            yield tokens
        finally:
            tokens.unlock()

    async def aclose(self) -> None:
        """Do nothing: no file stays open."""

    def _file(self, server: str) -> Path:
        return self._folder / f"{server}.json"


class LockedTokenFile:
    """The stored tokens of one server while this process holds their lock."""

    def __init__(self, file: Path, threads: Threads) -> None:
        self._file, self._threads = file, threads
        self._state_lock = threading.Lock()
        self._held, self._is_writing, self._is_unlocked = ExitStack(), False, False
        self._text: str | None = None

    @property
    def text(self) -> str | None:
        """The stored text, or None."""
        return self._text

    @on_thread
    def replace(self, text: str | None, *, is_refresh: bool = False) -> None:
        """Replace the stored text; None deletes it. Durable on return."""
        with self._state_lock:
            if text == self._text or self._is_unlocked:
                return
            self._is_writing = True
        try:
            if text is None:
                self._file.unlink(missing_ok=True)
                sync_directory(self._file.parent)
            else:
                write_atomic(self._file, text.encode())
            self._text = text
        finally:
            self._finish_write()

    def _finish_write(self) -> None:
        with self._state_lock:
            self._is_writing, is_unlocked = False, self._is_unlocked
        if is_unlocked:  # the caller was cancelled while this thread was writing
            self._held.close()

    @on_thread
    def lock(self) -> None:
        """Wait for the lock and read the text."""
        make_private_dir(self._file.parent)
        self._file.parent.chmod(PRIVATE_DIR)  # an existing directory may have other permissions
        with ExitStack() as stack:
            descriptor = os.open(self._file.with_suffix(".lock"), os.O_RDWR | os.O_CREAT, PRIVATE)
            stack.callback(os.close, descriptor)
            stack.enter_context(locked(descriptor, TIMEOUT_S))
            self._text = _read(self._file)
            with self._state_lock:
                if not self._is_unlocked:  # otherwise the caller was cancelled while this thread waited
                    self._held = stack.pop_all()

    def unlock(self) -> None:
        """Release the lock: now, or when the thread that waits for it or writes is done."""
        with self._state_lock:
            self._is_unlocked, is_writing = True, self._is_writing
        if not is_writing:
            self._held.close()


def _read(file: Path) -> str | None:
    try:
        text = file.read_bytes().decode()
        if isinstance(json.loads(text), dict):
            return text
    except FileNotFoundError:
        return None
    except (ValueError, RecursionError):  # not logged: the message may quote a token
        pass
    log.error("moved corrupt file %s to %s; log in again", file, move_corrupt_file(file).name)
    return None
