"""OAuth tokens of servers, one JSON file per server, readable only by the owner."""

import json
import logging
import os
from collections.abc import Callable
from pathlib import Path

from onetool.files.atomic import PRIVATE, PRIVATE_DIR, make_private_dir, sync_directory, write_atomic
from onetool.files.corrupt_files import move_corrupt_file
from onetool.files.lock import locked

log = logging.getLogger(__name__)
TIMEOUT_S = 30.0
"""How long a change waits for another process that is refreshing the same tokens."""


class FileTokens:
    """One JSON file per server. Writes are atomic, and a lock file serializes them across processes."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def read(self, server: str) -> str | None:
        """Return the stored tokens of a server. A corrupt file is renamed and counts as missing."""
        file = self._file(server)
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

    def change(self, server: str, change: Callable[[str | None], str | None]) -> str | None:
        """Replace the stored tokens with what `change` returns; None deletes them. Durable on return."""
        make_private_dir(self._folder)
        self._folder.chmod(PRIVATE_DIR)  # an existing directory may have other permissions
        file = self._file(server)
        descriptor = os.open(file.with_suffix(".lock"), os.O_RDWR | os.O_CREAT, PRIVATE)
        try:
            with locked(descriptor, TIMEOUT_S):
                before = self.read(server)
                after = change(before)
                if after != before:
                    _store(file, after)
        finally:
            os.close(descriptor)
        return after

    def _file(self, server: str) -> Path:
        return self._folder / f"{server}.json"


def _store(file: Path, text: str | None) -> None:
    if text is not None:
        write_atomic(file, text.encode())
        return
    file.unlink(missing_ok=True)
    sync_directory(file.parent)
