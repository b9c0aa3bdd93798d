"""A file whose change signals a configuration reload to the user's other processes."""

import logging
from collections.abc import Hashable
from pathlib import Path

from .atomic import write_atomic
from .fingerprint import Fingerprint, fingerprint

log = logging.getLogger(__name__)


class FileReloadSignal:
    """Signals reloads between processes. Without a file it does nothing."""

    def __init__(self, file: Path | None) -> None:
        self._file = str(file) if file else None
        self._acknowledged: Hashable = None

    def current(self) -> Fingerprint:
        """Return the current state of the signal."""
        return fingerprint(self._file) if self._file is not None else None

    @property
    def is_pending(self) -> bool:
        """Whether there is a signal that is not acknowledged. Costs one stat."""
        return self._file is not None and fingerprint(self._file) != self._acknowledged

    def acknowledge(self, signalled: Hashable) -> None:
        """Mark a signal as handled. Pass the value of `current` from before the reload, so none is missed."""
        self._acknowledged = signalled

    def notify(self) -> None:
        """Signal a reload to all other processes. May block."""
        if self._file is None:
            return
        try:
            write_atomic(Path(self._file), b"")
        except OSError as error:
            log.warning("cannot signal a reload to other processes: %s", error)
