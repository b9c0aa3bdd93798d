"""Switches of what is not stored here: one small JSON file, by the ids of what they switch."""

import os
from collections.abc import Hashable, Mapping
from pathlib import Path

import orjson

from onetool.files.atomic import PRIVATE, PRIVATE_DIR, write_atomic
from onetool.files.lock import locked
from onetool.files.stamp import stamp


class FlatFileSwitches:
    """Read whole, written whole, one process at a time."""

    def __init__(self, file: Path) -> None:
        self._file, self._text = file, str(file)

    def generation(self) -> Hashable:
        """Moves with every change."""
        return stamp(self._text)

    def read(self) -> Mapping[str, bool]:
        """Return every switch that was ever touched.

        Raises ValueError when the file is damaged: what was switched off must not come on by that.
        """
        try:
            said = orjson.loads(self._file.read_bytes())
            return {str(id): bool(is_on) for id, is_on in said["switches"].items()}
        except FileNotFoundError:
            return {}
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            raise ValueError(f"{self._file} is damaged: mend or remove it ({error})") from None

    def set(self, id: str, is_enabled: bool) -> None:
        """Set a switch."""
        self._file.parent.mkdir(mode=PRIVATE_DIR, parents=True, exist_ok=True)
        descriptor = os.open(self._file.with_suffix(".lock"), os.O_RDWR | os.O_CREAT, PRIVATE)
        try:
            with locked(descriptor):
                switches = dict(self.read()) | {id: is_enabled}
                said = {"schemaVersion": 1, "switches": switches}
                write_atomic(self._file, orjson.dumps(said, option=orjson.OPT_INDENT_2))
        finally:
            os.close(descriptor)
