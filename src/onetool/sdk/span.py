"""Log records for timed operations."""

import logging
import time
from types import TracebackType
from typing import Any, Self

log = logging.getLogger("onetool.spans")


class LogSpan:
    """A log record of an operation with its inputs, duration and status.

    `with LogSpan("brave.search", query=q) as span: ...; span.add(found=3)`
    """

    def __init__(self, span: str, **inputs: Any) -> None:
        self._span, self._fields = span, inputs
        self._start = 0.0

    def add(self, **fields: Any) -> None:
        """Add fields to the record."""
        self._fields |= fields

    def __enter__(self) -> Self:
        self._start = time.monotonic()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        outcome = (
            {"status": "FAILED", "error": f"{kind.__name__}: {error}"} if kind else {"status": "SUCCESS"}
        )
        duration = round(time.monotonic() - self._start, 6)
        log.info("span", extra={"span": self._span, "duration": duration, **outcome, "inputs": self._fields})
