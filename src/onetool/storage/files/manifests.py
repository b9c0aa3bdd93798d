"""Server manifests in files, one JSON file per server, so that tools are listed before a server starts."""

import json
import logging
import os
from collections.abc import Callable, Hashable
from pathlib import Path

from onetool.domain.servers.manifest import ServerManifest
from onetool.files.atomic import PRIVATE, make_private_dir, write_atomic
from onetool.files.corrupt_files import move_corrupt_file
from onetool.files.fingerprint import fingerprint
from onetool.files.lock import locked
from onetool.threads import Threads

from .on_thread import on_thread

log = logging.getLogger(__name__)


class FileManifests:
    """One JSON file per server. Writes are atomic, and a lock file serializes them across processes."""

    def __init__(self, folder: Path, threads: Threads) -> None:
        self._folder, self._prefix, self._threads = folder, str(folder), threads

    def generation(self, server: str) -> Hashable:
        """Return a value that changes with every write."""
        return fingerprint(f"{self._prefix}/{server}.json")

    @on_thread
    def read(self, server: str) -> ServerManifest | None:
        """Return the manifest of a server. A corrupt file is renamed and counts as missing."""
        return self._read(server)

    @on_thread
    def change(
        self, server: str, change: Callable[[ServerManifest | None], ServerManifest]
    ) -> ServerManifest:
        """Replace the manifest with what `change` returns. Durable on return."""
        file = self._file(server)
        make_private_dir(file.parent)
        descriptor = os.open(file.with_suffix(".lock"), os.O_RDWR | os.O_CREAT, PRIVATE)
        try:
            with locked(descriptor):
                changed = change(self._read(server))
                write_atomic(file, json.dumps(changed.to_json()).encode())
        finally:
            os.close(descriptor)
        return changed

    async def aclose(self) -> None:
        """Do nothing: no file stays open."""

    def _read(self, server: str) -> ServerManifest | None:
        file = self._file(server)
        try:
            return ServerManifest.from_json(json.loads(file.read_bytes()))
        except FileNotFoundError:
            return None
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            log.error("moved corrupt file %s to %s: %s", file, move_corrupt_file(file).name, error)
            return None

    def _file(self, server: str) -> Path:
        return self._folder / f"{server}.json"
