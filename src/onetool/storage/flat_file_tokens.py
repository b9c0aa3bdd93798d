"""What logging in to servers has brought: one JSON file for each, readable by its owner alone."""

import json
import logging
import os
from collections.abc import Callable
from pathlib import Path

from onetool.files.atomic import PRIVATE, PRIVATE_DIR, sync_directory, write_atomic
from onetool.files.lock import locked
from onetool.files.quarantine import set_aside

log = logging.getLogger(__name__)
PATIENCE = 30.0
"""Seconds that somebody waits while another process renews what is kept."""


class FlatFileTokens:
    """Each read whole, written whole, one process at a time."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def read(self, server: str) -> str | None:
        """Return what is kept of a server; a damaged file is set aside."""
        file = self._file(server)
        try:
            text = file.read_bytes().decode()
            if isinstance(json.loads(text), dict):
                return text
        except FileNotFoundError:
            return None
        except (ValueError, RecursionError):  # what it says could repeat a token
            pass
        log.error("%s is damaged and set aside as %s: log in anew", file, set_aside(file).name)
        return None

    def change(self, server: str, change: Callable[[str | None], str | None]) -> str | None:
        """Replace what is kept by what the function makes of it, None for nothing; then it is durable."""
        self._folder.mkdir(mode=PRIVATE_DIR, parents=True, exist_ok=True)
        self._folder.chmod(PRIVATE_DIR)  # it may have been there before
        file = self._file(server)
        descriptor = os.open(file.with_suffix(".lock"), os.O_RDWR | os.O_CREAT, PRIVATE)
        try:
            with locked(descriptor, PATIENCE):
                before = self.read(server)
                after = change(before)
                if after != before:
                    _keep(file, after)
        finally:
            os.close(descriptor)
        return after

    def _file(self, server: str) -> Path:
        return self._folder / f"{server}.json"


def _keep(file: Path, text: str | None) -> None:
    if text is not None:
        write_atomic(file, text.encode())
        return
    file.unlink(missing_ok=True)
    sync_directory(file.parent)
