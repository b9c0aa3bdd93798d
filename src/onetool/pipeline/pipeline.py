"""The one way a call runs. Read `_steps` from top to bottom."""

import asyncio
import logging
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from onetool.catalog.catalog import Catalog, Resolved
from onetool.domain.call import ErrorText, Meta, ToolCall, ToolResult
from onetool.domain.caller import Caller
from onetool.domain.errors import ExecutionError, Reason, ToolError
from onetool.domain.invocation import Flag, Invocation
from onetool.domain.redaction import Redactor
from onetool.domain.texts import cut
from onetool.ports import RateLimiter
from onetool.threads import Threads

from .admission import Admission
from .approval import Approval
from .checks import Checks
from .dispatch import Enter, Raised, ReturnedError, dispatch
from .leash import Timekeeper
from .leaving import Leaving
from .record import Recorder

log = logging.getLogger(__name__)

LONGEST_MESSAGE = 4_000
INSIDE = "sdk"
"""Calls from one pack to another hand over native objects: nothing leaves the process."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """What the settings say of every call."""

    timeout: float = 8.0
    max_concurrent: int = 64
    max_args_bytes: int = 16 * 2**20
    max_output_bytes: int = 64 * 2**20


class Pipeline:
    """Answers every call, and a failed call is an answer too: `run` raises nothing but CancelledError."""

    def __init__(
        self,
        catalog: Catalog,
        recorder: Recorder,
        enter: Enter,
        *,
        limits: Limits | None = None,
        rates: RateLimiter,
        approval: Approval | None = None,
        redactor: Redactor | None = None,
        threads: Threads | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._limits = limits or Limits()
        self._catalog, self._recorder, self._enter = catalog, recorder, enter
        self._approval, self._redactor = approval or Approval(), redactor or Redactor()
        self._leaving = Leaving(self._limits.max_output_bytes, self._redactor, threads or Threads())
        self._checks = Checks(self._limits.max_args_bytes)
        self._admission = Admission(self._limits.max_concurrent, rates)
        self._clock = clock
        self._timekeeper = Timekeeper()

    async def run(self, call: ToolCall, caller: Caller) -> ToolResult:
        """Walk a call through all steps; answer, and remember the answer."""
        walk = _Walk(call, caller, self._clock())
        try:
            result = ToolResult(ok=True, data=await self._steps(walk), meta=self._meta(walk))
        except ToolError as error:
            result = self._failure(walk, error)
        except Exception as error:  # the last wall: whatever it was, the caller gets an answer
            log.exception("a call of %r could not be answered", call.name)
            why = f"{call.name!r} could not be called: {type(error).__name__}."
            result = self._failure(walk, ExecutionError(Reason.RAISED, why))
        except asyncio.CancelledError:
            left = ExecutionError(Reason.CANCELLED, "The caller left.")
            self._recorder.add(call, caller, self._meta(walk, left.reason), walk.sizes, walk.tool_id)
            raise
        self._recorder.add(call, caller, result.meta, walk.sizes, walk.tool_id)
        return result

    async def _steps(self, walk: "_Walk") -> Any:
        call, caller = walk.call, walk.caller
        walk.resolved = resolved = await self._catalog.resolve(call.name, caller)
        walk.bytes_in = self._checks.check_args(resolved, call.args)
        deadline = self._deadline(resolved, caller)
        places = await self._admission.enter(resolved.tool.spec, caller, deadline)
        try:
            if await self._approval.check(resolved, call.args, caller):
                deadline = self._deadline(resolved, caller)  # a person's thinking is not the tool's time
            output = await self._run(walk, resolved, deadline)
        finally:
            self._admission.leave(places)
        self._checks.check_output(resolved, output)
        if call.source == INSIDE:
            return output
        output, walk.bytes_out = await self._leaving.check(call.name, output)
        return output

    async def _run(self, walk: "_Walk", resolved: Resolved, deadline: float) -> Any:
        name = resolved.tool.spec.name
        if deadline <= self._clock():
            raise ExecutionError(Reason.TIMEOUT, f"{name} was not called: no time is left.")
        invocation = Invocation(walk.call.id, name, walk.call.args, walk.caller, deadline, Flag())
        output = await dispatch(resolved.worker, invocation, self._enter, self._timekeeper)
        if self._clock() > deadline:
            log.warning("%s held the event loop past its deadline: an async tool must not block", name)
        return output

    def _deadline(self, resolved: Resolved, caller: Caller) -> float:
        """When the tool's own time is over, or the caller's, if that is sooner."""
        timeout = resolved.tool.spec.timeout or resolved.worker.spec.timeout or self._limits.timeout
        deadline = self._clock() + timeout
        return deadline if caller.deadline is None else min(deadline, caller.deadline)

    async def leaving(self, name: str, output: Any) -> tuple[Any, int]:
        """Check what leaves the house, and mask the secrets in it; return it with its size.

        Raises ExecutionError.
        """
        return await self._leaving.check(name, output)

    def _error_text(self, text: ErrorText) -> ErrorText:
        return ErrorText(cut(self._redactor.redact(text), self._limits.max_output_bytes))

    def masked(self, text: str) -> str:
        """Return a text without secrets."""
        return self._redactor.redact(text)

    def _meta(self, walk: "_Walk", reason: Reason | None = None, exception: str = "") -> Meta:
        took = round((self._clock() - walk.start) * 1000, 3)
        if walk.resolved is None:
            return Meta(walk.call.name, walk.call.id, took, reason=reason)
        spec = walk.resolved.tool.spec
        return Meta(spec.name, walk.call.id, took, spec.version, reason, exception, spec.impl == "mock")

    def _failure(self, walk: "_Walk", error: ToolError) -> ToolResult:
        meta = self._meta(walk, error.reason, error.builtin if isinstance(error, Raised) else "")
        return ToolResult.failure(
            meta,
            error.reason,
            cut(self._redactor.redact(str(error)), LONGEST_MESSAGE),
            data=self._error_text(error.text) if isinstance(error, ReturnedError) else None,
            raised=error.error if isinstance(error, Raised) else error,
        )


@dataclass(slots=True)
class _Walk:
    """What is known of one call on its way."""

    call: ToolCall
    caller: Caller
    start: float
    resolved: Resolved | None = None
    bytes_in: int = 0
    bytes_out: int = 0

    @property
    def sizes(self) -> tuple[int, int]:
        return self.bytes_in, self.bytes_out

    @property
    def tool_id(self) -> str | None:
        return self.resolved.tool.spec.id if self.resolved else None
