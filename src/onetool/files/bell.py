"""A file whose change tells all processes of this user that something has happened."""

import logging
from pathlib import Path

from .atomic import write_atomic
from .stamp import Stamp, stamp

log = logging.getLogger(__name__)


class Bell:
    """Heard by everybody who looks; without a file by nobody."""

    def __init__(self, file: Path | None) -> None:
        self._file = str(file) if file else None
        self._heard: Stamp = None

    def now(self) -> Stamp:
        """How the file stands."""
        return stamp(self._file) if self._file is not None else None

    @property
    def has_rung(self) -> bool:
        """Whether somebody has rung since it was last heard: one look at the file."""
        return self._file is not None and stamp(self._file) != self._heard

    def hear(self, at: Stamp) -> None:
        """Take note of a ringing, as the file stood before its wish was done: so none is missed."""
        self._heard = at

    def ring(self) -> None:
        """Tell all others. It may block."""
        if self._file is None:
            return
        try:
            write_atomic(Path(self._file), b"")
        except OSError as error:
            log.warning("other processes cannot be told: %s", error)
