"""Enabled flags of tools that are not stored as bundles, in one JSON file."""

import os
from collections.abc import Hashable, Mapping
from pathlib import Path

import orjson

from onetool.files.atomic import PRIVATE, make_private_dir, write_atomic
from onetool.files.fingerprint import fingerprint
from onetool.files.lock import locked
from onetool.threads import Threads

from .on_thread import on_thread


class FileToggles:
    """Stores the flags by id. Writes are atomic, and a lock file serializes them across processes."""

    def __init__(self, file: Path, threads: Threads) -> None:
        self._file, self._path, self._threads = file, str(file), threads

    def generation(self) -> Hashable:
        """Return a value that changes with every write."""
        return fingerprint(self._path)

    @on_thread
    def read(self) -> Mapping[str, bool]:
        """Return every flag that was ever set.

        Raises:
            ValueError: The file is corrupt. Ignoring it would enable what the user disabled.
        """
        return self._read()

    @on_thread
    def set(self, id: str, is_enabled: bool) -> None:
        """Set a flag. Durable on return."""
        make_private_dir(self._file.parent)
        descriptor = os.open(self._file.with_suffix(".lock"), os.O_RDWR | os.O_CREAT, PRIVATE)
        try:
            with locked(descriptor):
                flags = dict(self._read()) | {id: is_enabled}
                data = {"schemaVersion": 1, "toggles": flags}
                write_atomic(self._file, orjson.dumps(data, option=orjson.OPT_INDENT_2))
        finally:
            os.close(descriptor)

    async def aclose(self) -> None:
        """Do nothing: no file stays open."""

    def _read(self) -> Mapping[str, bool]:
        try:
            data = orjson.loads(self._file.read_bytes())
            return {str(id): bool(is_enabled) for id, is_enabled in data["toggles"].items()}
        except FileNotFoundError:
            return {}
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            raise ValueError(f"{self._file} is corrupt ({error}). Repair or delete it.") from None
