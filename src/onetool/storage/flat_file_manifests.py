"""What servers have listed: one JSON file for each, so that their tools are known before they run."""

import json
import logging
import os
from collections.abc import Callable, Hashable
from pathlib import Path

from onetool.domain.manifest import Manifest
from onetool.files.atomic import PRIVATE, PRIVATE_DIR, write_atomic
from onetool.files.lock import locked
from onetool.files.quarantine import set_aside
from onetool.files.stamp import stamp

log = logging.getLogger(__name__)


class FlatFileManifests:
    """Each read whole, written whole, one process at a time."""

    def __init__(self, folder: Path) -> None:
        self._folder, self._text = folder, str(folder)

    def generation(self, server: str) -> Hashable:
        """Moves with every change."""
        return stamp(f"{self._text}/{server}.json")

    def read(self, server: str) -> Manifest | None:
        """Return what is known of a server; a damaged file is set aside."""
        file = self._file(server)
        try:
            return Manifest.from_json(json.loads(file.read_bytes()))
        except FileNotFoundError:
            return None
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            log.error("%s is damaged and set aside as %s: %s", file, set_aside(file).name, error)
            return None

    def change(self, server: str, change: Callable[[Manifest | None], Manifest]) -> Manifest:
        """Replace what is known by what the function makes of it; on return it is durable."""
        file = self._file(server)
        file.parent.mkdir(mode=PRIVATE_DIR, parents=True, exist_ok=True)
        descriptor = os.open(file.with_suffix(".lock"), os.O_RDWR | os.O_CREAT, PRIVATE)
        try:
            with locked(descriptor):
                changed = change(self.read(server))
                write_atomic(file, json.dumps(changed.to_json()).encode())
        finally:
            os.close(descriptor)
        return changed

    def _file(self, server: str) -> Path:
        return self._folder / f"{server}.json"
