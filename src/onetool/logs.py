"""Logs: one JSON object a line, to stderr and to a rotated file, with the redactor in front.

A person at a terminal reads a sentence instead; the file has the rest.

Lines are written on a thread of their own: a full pipe or a slow disk never stops the event loop.
"""

import logging
import os
import sys
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from pathlib import Path
from queue import Empty, Full, Queue
from typing import Any

from onetool.domain.json_text import encode, jsonable
from onetool.domain.redaction import Redactor
from onetool.domain.texts import printable

QUEUED = 10_000
BATCH = 500
LAST_WORDS = 1.0
"""Seconds that the end of the process waits for lines not yet written."""
_OWN = frozenset(logging.makeLogRecord({}).__dict__) | {"message", "asctime", "taskName"}


class SharedFile:
    """A log file that several processes append to and any of them may rotate."""

    def __init__(self, path: Path, max_bytes: int) -> None:
        self._path, self._max_bytes = path, max_bytes

    def append(self, lines: bytes) -> None:
        """Write whole lines at once: an append is never torn, whoever else is writing."""
        self._path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        descriptor = os.open(self._path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
        try:
            os.write(descriptor, lines)
            written = os.fstat(descriptor)
        finally:
            os.close(descriptor)
        if written.st_size > self._max_bytes and self._path.stat().st_ino == written.st_ino:
            self._path.replace(self._path.with_suffix(".1.jsonl"))


class JsonLog(logging.Handler):
    """Queues records for the writing thread; those that find the queue full are dropped."""

    def __init__(self, *, stderr_level: int, file: SharedFile | None) -> None:
        super().__init__()
        self.redactor = Redactor()
        self._stderr_level, self._file = stderr_level, file
        self._records: Queue[logging.LogRecord | None] = Queue(QUEUED)
        self._writer: threading.Thread | None = None

    def emit(self, record: logging.LogRecord) -> None:
        """Take a record; never waits."""
        if self._writer is None:
            self._writer = threading.Thread(target=self._write, name="onetool-logs", daemon=True)
            self._writer.start()
        with suppress(Full):
            self._records.put_nowait(record)

    def close(self) -> None:
        """Write what is queued, within a second."""
        if self._writer is not None:
            with suppress(Full):
                self._records.put_nowait(None)
            self._writer.join(LAST_WORDS)
        super().close()

    def line(self, record: logging.LogRecord) -> str:
        """A record as one redacted JSON line; what was given as `extra` becomes members."""
        members: dict[str, Any] = {
            "at": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": record.getMessage(),
        }
        members |= {key: value for key, value in vars(record).items() if key not in _OWN}
        if record.exc_info:
            members["exception"] = logging.Formatter().formatException(record.exc_info)
        clean = self.redactor.clean(jsonable(members)) if self.redactor else members
        return self.redactor.redact(encode(clean).decode()) + "\n"

    def sentence(self, record: logging.LogRecord) -> str:
        """A record as a person reads it."""
        return f"{record.levelname.lower()}: {printable(self.redactor.redact(record.getMessage()))}\n"

    def _safe_line(self, record: logging.LogRecord) -> str:
        try:
            return self.line(record)
        except Exception:  # noqa: BLE001 - a record that cannot be written must not end the log
            return (
                encode(
                    {"level": "error", "logger": record.name, "message": "a record could not be written"}
                ).decode()
                + "\n"
            )

    def _write(self) -> None:
        while True:
            batch = self._next_batch()
            records = [record for record in batch if record is not None]
            lines = [self._safe_line(record) for record in records]
            with suppress(OSError):  # a full disk must not end the thread
                if self._file is not None and lines:
                    self._file.append("".join(lines).encode())
            with suppress(OSError, ValueError):  # nor a closed stderr
                _write_stderr("".join(self._loud(records, lines)))
            if len(records) < len(batch):
                return

    def _loud(self, records: Sequence[logging.LogRecord], lines: Sequence[str]) -> Iterator[str]:
        is_seen = sys.stderr is not None and sys.stderr.isatty()
        for record, line in zip(records, lines, strict=True):
            if record.levelno >= self._stderr_level:
                yield self.sentence(record) if is_seen else line

    def _next_batch(self) -> list[logging.LogRecord | None]:
        batch = [self._records.get()]
        with suppress(Empty):
            while batch[-1] is not None and len(batch) < BATCH:
                batch.append(self._records.get_nowait())
        return batch


def _write_stderr(text: str) -> None:
    """Write past Python's buffer: its lock, held by a thread that is stuck here, would crash the exit."""
    try:
        descriptor = sys.stderr.fileno()
    except (OSError, ValueError, AttributeError):  # replaced by something without a descriptor, or None
        if sys.stderr is not None:
            sys.stderr.write(text)
        return
    content = text.encode("utf-8", "replace")
    while content:
        content = content[os.write(descriptor, content) :]


@contextmanager
def open_logs(*, stderr: str, file: SharedFile | None) -> Iterator[JsonLog]:
    """Send everything logged under `onetool` to stderr from this level on, and to the file from info on."""
    level = logging.getLevelNamesMapping()[stderr.upper()]
    handler = JsonLog(stderr_level=level, file=file)
    logger = logging.getLogger("onetool")
    before = logger.level, logger.propagate
    logger.setLevel(min(level, logging.INFO) if file else level)
    logger.propagate = False
    logger.addHandler(handler)
    try:
        yield handler
    finally:
        logger.removeHandler(handler)
        logger.level, logger.propagate = before
        handler.close()
