"""Records of code that a model wrote. The calls in it are recorded as its children."""

import time
from typing import Any, cast

from onetool.domain.activity.record import RUN
from onetool.domain.calls.call import CallMeta, CallSource, ToolCall
from onetool.domain.calls.caller import Caller
from onetool.domain.errors import Reason
from onetool.domain.secrets.redaction import Redactor

from .code_runner import CodeResult
from .recorder import FinishedCall


class StartedRun:
    """Code that has started to run. Made into what the recorder gets when it ends."""

    def __init__(self, id: str, code: str, caller: Caller) -> None:
        self.id = id
        self._code, self._caller, self._start = code, caller, time.monotonic()

    def finished(self, result: CodeResult, redactor: Redactor) -> FinishedCall:
        """Return the end of a run with a result."""
        if result.error is not None:
            return self._end(redactor, result.error.reason, result.error.message)
        value = {"printed": result.printed, "value": result.data} if result.printed else result.data
        return self._end(redactor, None, value, result.size_bytes + len(result.printed))

    def cancelled(self, redactor: Redactor) -> FinishedCall:
        """Return the end of a run that was cancelled."""
        return self._end(redactor, Reason.CANCELLED, "")

    def _end(self, redactor: Redactor, reason: Reason | None, value: Any, size: int = 0) -> FinishedCall:
        duration_ms = round((time.monotonic() - self._start) * 1000, 3)
        return FinishedCall(
            ToolCall(self.id, RUN, {"code": self._code}, cast("CallSource", self._caller.interface)),
            self._caller,
            CallMeta(RUN, self.id, duration_ms, reason=reason),
            value,
            redactor,
            bytes_in=len(self._code),
            bytes_out=size,
            kind="run",
        )
