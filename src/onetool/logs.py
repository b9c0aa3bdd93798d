"""Logging as redacted JSON Lines, to stderr and to a rotating file.

If stderr is a terminal, it gets plain sentences instead. A separate thread writes the lines, so that a full
pipe or a slow disk never blocks the event loop.
"""

import logging
import os
import sys
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from datetime import UTC, datetime
from pathlib import Path
from queue import Empty, Full, Queue
from typing import Any

from onetool.domain.secrets.credential_set import CredentialSet
from onetool.domain.text.json_text import encode, jsonable
from onetool.domain.text.strings import printable

log = logging.getLogger(__name__)
MAX_QUEUED = 10_000
BATCH_SIZE = 500
CLOSE_TIMEOUT_S = 1.0
"""Time that `close` waits for queued records to be written."""
OWN_LOGGERS = "onetool"
"""Start of the logger names of OneTool and, with their module names, of packs."""
CREDENTIALS = "onetool_credentials"
"""Attribute of a record: what is redacted in it."""
_STANDARD_FIELDS = frozenset(logging.makeLogRecord({}).__dict__) | {
    "message",
    "asctime",
    "taskName",
    CREDENTIALS,
}
_credentials: ContextVar[CredentialSet | None] = ContextVar("credentials of log records", default=None)


@contextmanager
def redacting(credentials: CredentialSet) -> Iterator[None]:
    """Redact these in all records of the block, instead of those of the process."""
    token = _credentials.set(credentials)
    try:
        yield
    finally:
        _credentials.reset(token)


class RotatingFile:
    """A log file that several processes append to and rotate."""

    def __init__(self, path: Path, max_bytes: int) -> None:
        self._path, self._max_bytes = path, max_bytes
        self._is_torn = False

    def append(self, lines: bytes) -> None:
        """Append whole lines with one write, so that lines of other processes do not mix with them.

        Only a nearly full disk splits the write. If the rest fails too, the next lines start on a new line.
        """
        missing = [folder for folder in self._path.parents if not folder.exists()]
        for folder in reversed(missing):
            folder.mkdir(mode=0o700, exist_ok=True)
        descriptor = os.open(self._path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
        try:
            lines = b"\n" + lines if self._is_torn else lines
            while lines:
                lines = lines[os.write(descriptor, lines) :]
                self._is_torn = bool(lines)
            status = os.fstat(descriptor)
        finally:
            os.close(descriptor)
        if status.st_size > self._max_bytes and self._path.stat().st_ino == status.st_ino:
            self._path.replace(self._path.with_suffix(".1.jsonl"))


class JsonLogHandler(logging.Handler):
    """Queues records for the writer thread. Drops records while the queue is full."""

    def __init__(
        self, *, stderr_level: int, file: RotatingFile | None, credentials: CredentialSet | None = None
    ) -> None:
        super().__init__()
        self._credentials = credentials or CredentialSet()
        self.configure(stderr_level=stderr_level, file=file)
        self._records: Queue[logging.LogRecord | None] = Queue(MAX_QUEUED)
        self._writer: threading.Thread | None = None

    def configure(self, *, stderr_level: int, file: RotatingFile | None) -> None:
        """Change where records are written. Also applies to records that are queued."""
        self._stderr_level, self._file = stderr_level, file

    def filter(self, record: logging.LogRecord) -> bool:
        """Drop records of libraries below warning, unless stderr shows records of their level."""
        is_own = record.name.startswith(OWN_LOGGERS)
        return is_own or record.levelno >= min(self._stderr_level, logging.WARNING)

    def emit(self, record: logging.LogRecord) -> None:
        """Queue a record without blocking."""
        if (credentials := _credentials.get()) is not None:
            setattr(record, CREDENTIALS, credentials)
        if self._writer is None:
            self._writer = threading.Thread(target=self._write, name="onetool-logs", daemon=True)
            self._writer.start()
        with suppress(Full):
            self._records.put_nowait(record)

    def close(self) -> None:
        """Write the queued records, for at most CLOSE_TIMEOUT_S."""
        if self._writer is not None:
            with suppress(Full):
                self._records.put_nowait(None)
            self._writer.join(CLOSE_TIMEOUT_S)
        super().close()

    def format_json(self, record: logging.LogRecord) -> str:
        """Format a record as one redacted JSON line. Values passed as `extra` become fields."""
        fields: dict[str, Any] = {
            "at": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": record.getMessage(),
        }
        fields |= {key: value for key, value in vars(record).items() if key not in _STANDARD_FIELDS}
        if record.exc_info:
            fields["exception"] = _exception_text(record)
        redactor = self._credentials_of(record).redactor
        masked = redactor.mask(jsonable(fields)) if redactor else fields
        return redactor.redact(encode(masked).decode()) + "\n"

    def format_message(self, record: logging.LogRecord) -> str:
        """Format a record as a sentence for a terminal. Records for developers have their tracebacks."""
        redact = self._credentials_of(record).redact
        text = f"{record.levelname.lower()}: {printable(redact(record.getMessage()))}\n"
        if record.levelno > logging.DEBUG:
            return text
        lines = redact(_exception_text(record)).splitlines()
        return text + "".join(f"  {printable(line)}\n" for line in lines)

    def _credentials_of(self, record: logging.LogRecord) -> CredentialSet:
        """Return those of the workspace that a record is about, or those of the process."""
        return getattr(record, CREDENTIALS, self._credentials)

    def _try_format_json(self, record: logging.LogRecord) -> str:
        try:
            return self.format_json(record)
        except Exception:  # noqa: BLE001 - one unusable record must not stop logging
            return (
                encode(
                    {"level": "error", "logger": record.name, "message": "cannot format a log record"}
                ).decode()
                + "\n"
            )

    def _write(self) -> None:
        while True:
            batch = self._next_batch()
            records = [record for record in batch if record is not None]
            lines = [self._try_format_json(record) for record in records]
            with suppress(OSError):  # a full disk must not stop the thread
                if self._file is not None and lines:
                    self._file.append("".join(lines).encode())
            with suppress(OSError, ValueError):  # neither must a closed stderr
                _write_stderr("".join(self._stderr_lines(records, lines)))
            if len(records) < len(batch):
                return

    def _stderr_lines(self, records: Sequence[logging.LogRecord], lines: Sequence[str]) -> Iterator[str]:
        is_terminal = sys.stderr is not None and sys.stderr.isatty()
        for record, line in zip(records, lines, strict=True):
            if record.levelno >= self._stderr_level:
                yield self.format_message(record) if is_terminal else line

    def _next_batch(self) -> list[logging.LogRecord | None]:
        batch = [self._records.get()]
        with suppress(Empty):
            while batch[-1] is not None and len(batch) < BATCH_SIZE:
                batch.append(self._records.get_nowait())
        return batch


def _exception_text(record: logging.LogRecord) -> str:
    """Return the traceback of a record, or that of another process which it contains; otherwise nothing."""
    if record.exc_info:
        return logging.Formatter().formatException(record.exc_info)
    return str(getattr(record, "exception", ""))


def _write_stderr(text: str) -> None:
    """Bypass Python's buffer: if this thread were stuck while holding its lock, the exit would crash."""
    try:
        descriptor = sys.stderr.fileno()
    except (OSError, ValueError, AttributeError):  # replaced by an object without a descriptor, or None
        if sys.stderr is not None:
            sys.stderr.write(text)
        return
    content = text.encode("utf-8", "replace")
    while content:
        content = content[os.write(descriptor, content) :]


class Logs:
    """The handler of a logger, and the level of both."""

    def __init__(self, logger: logging.Logger, handler: JsonLogHandler) -> None:
        self._logger, self._handler = logger, handler

    def configure(self, *, stderr: str, file: RotatingFile | None) -> None:
        """Write records to stderr from this level on, and to the file from info on."""
        level = logging.getLevelNamesMapping()[stderr.upper()]
        self._handler.configure(stderr_level=level, file=file)
        self._logger.setLevel(min(level, logging.INFO) if file else level)


@contextmanager
def open_logs(
    *,
    stderr: str,
    file: RotatingFile | None,
    credentials: CredentialSet | None = None,
    owns_process: bool = False,
) -> Iterator[Logs]:
    """Write log records, redacted: to stderr from this level on, to the file from info on.

    If OneTool owns the process, these are the records of all loggers, and the uncaught exceptions of
    threads. Otherwise only the records of loggers under `onetool`: the root logger belongs to the program
    that OneTool is embedded in.
    """
    handler = JsonLogHandler(stderr_level=logging.CRITICAL, file=None, credentials=credentials)
    logger = logging.getLogger(None if owns_process else OWN_LOGGERS)
    previous = logger.level, logger.propagate, threading.excepthook
    logs = Logs(logger, handler)
    logs.configure(stderr=stderr, file=file)
    logger.propagate = False
    logger.addHandler(handler)
    if owns_process:
        threading.excepthook = _log_thread_exception
    try:
        yield logs
    finally:
        logger.removeHandler(handler)
        logger.setLevel(previous[0])
        _, logger.propagate, threading.excepthook = previous
        handler.close()


def _log_thread_exception(args: threading.ExceptHookArgs) -> None:
    """Log what a thread raised: Python would print it to stderr, with every secret in it."""
    if args.exc_type is not SystemExit and args.exc_value is not None:
        error = args.exc_type, args.exc_value, args.exc_traceback
        name = args.thread.name if args.thread else "unknown"
        log.error("exception in thread %s", name, exc_info=error)
