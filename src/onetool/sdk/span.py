"""Log a piece of work as one record: what, with what, how long, how it ended."""

import logging
import time
from types import TracebackType
from typing import Any, Self

log = logging.getLogger("onetool.spans")


class LogSpan:
    """`with LogSpan("brave.search", query=q) as span: ...; span.add(found=3)`."""

    def __init__(self, span: str, **inputs: Any) -> None:
        self._span, self._members = span, inputs
        self._start = 0.0

    def add(self, **members: Any) -> None:
        """Say more in the record."""
        self._members |= members

    def __enter__(self) -> Self:
        self._start = time.monotonic()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        ended = {"status": "FAILED", "error": f"{kind.__name__}: {error}"} if kind else {"status": "SUCCESS"}
        duration = round(time.monotonic() - self._start, 6)
        log.info("span", extra={"span": self._span, "duration": duration, **ended, "inputs": self._members})
