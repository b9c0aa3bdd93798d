"""The pipeline: the steps that every call runs through, in the order of `Pipeline._run_steps`."""

import asyncio
import logging
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from onetool.catalog.catalog import Catalog, ResolvedTool
from onetool.domain.calls.call import CallMeta, ErrorText, ToolCall, ToolResult
from onetool.domain.calls.caller import Caller, ignore_progress
from onetool.domain.calls.invocation import CancelFlag, Invocation
from onetool.domain.errors import ExecutionError, Reason, ToolError
from onetool.domain.secrets.credential_set import CredentialSet
from onetool.domain.text.strings import truncate_middle
from onetool.domain.tools.signature import omit_nulls
from onetool.threads import Threads

from .admission import Admission
from .approval import ApprovalPolicy, Approver
from .deadline import DeadlineTimer
from .dispatch import ActivateCall, ToolRaised, ToolReturnedError, dispatch
from .output_guard import OutputGuard
from .recorder import Recorder
from .redacted_progress import RedactedProgress
from .validation import SchemaValidator

log = logging.getLogger(__name__)

MAX_MESSAGE_LENGTH = 4_000
MAX_NAME_LENGTH = 300
"""Length at which the name of an unknown tool is truncated in records."""
SDK = "sdk"
"""Source of calls from one pack to another. Their output stays in the process, as native objects."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CallLimits:
    """Limits from the settings that apply to every call."""

    timeout: float = 8.0
    max_args_bytes: int = 16 * 2**20
    max_output_bytes: int = 64 * 2**20


class Pipeline:
    """Runs calls. Failures are results: `run` raises nothing but CancelledError."""

    def __init__(
        self,
        catalog: Catalog,
        recorder: Recorder,
        activate: ActivateCall,
        *,
        limits: CallLimits | None = None,
        admission: Admission,
        approval: ApprovalPolicy | None = None,
        credentials: CredentialSet | None = None,
        threads: Threads | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._limits = limits or CallLimits()
        self._catalog, self._recorder, self._activate = catalog, recorder, activate
        self._credentials, threads = credentials or CredentialSet(), threads or Threads()
        self._approver = Approver(approval or ApprovalPolicy(), threads)
        self._validator = SchemaValidator(self._limits.max_args_bytes)
        self._admission = admission
        self._output_guard = OutputGuard(self._limits.max_output_bytes, threads)
        self._clock = clock
        self._timer = DeadlineTimer()

    async def run(self, call: ToolCall, caller: Caller) -> ToolResult:
        """Run a call through all steps, record it and return its result."""
        credentials = caller.credentials or CredentialSet(self._credentials)
        if caller.credentials is None:
            caller = _collect_credentials(caller, credentials)
        state = _CallState(call, caller, credentials, self._clock())
        try:
            result = ToolResult(ok=True, data=await self._run_steps(state), meta=self._meta(state))
        except ToolError as error:
            result = self._failure(state, error)
        except Exception as error:  # a bug of ours must not reach the caller as an exception
            log.exception("internal error in a call of %r", call.name)
            message = f"Internal error in a call of {call.name!r}: {type(error).__name__}."
            result = self._failure(state, ExecutionError(Reason.RAISED, message))
        except asyncio.CancelledError:
            self._record(state, self._meta(state, Reason.CANCELLED))
            raise
        self._record(state, result.meta)
        return result

    async def _run_steps(self, state: "_CallState") -> Any:
        """Resolve, validate, admit, approve, run, validate the output. Return the output."""
        caller = state.caller
        state.resolved = resolved = await self._catalog.resolve(state.call.name, caller)
        state.call = call = _without_nulls(state.call, resolved)
        state.bytes_in = self._validator.validate_args(resolved, call.args)
        await self._admission.check(resolved.tool.spec, caller)
        if request := await self._approver.approve(resolved, call.args, caller, state.credentials.mask):
            state.call = call._replace(args=request.args)  # nothing runs but what was approved
        deadline = self._deadline(resolved, caller)  # waiting for the user does not count
        slots = await self._admission.acquire(resolved.tool.spec, caller, deadline)
        try:
            output = await self._run_tool(state, resolved, deadline)
        finally:
            self._admission.release(slots)
        self._validator.validate_output(resolved, output)
        if call.source == SDK:
            return output
        redactor = state.credentials.redactor
        output, state.bytes_out = await self._output_guard.check(call.name, output, redactor)
        return output

    async def _run_tool(self, state: "_CallState", resolved: ResolvedTool, deadline: float) -> Any:
        name = resolved.tool.spec.name
        if deadline <= self._clock():
            raise ExecutionError(Reason.TIMEOUT, f"{name} was not called: no time left.")
        invocation = Invocation(state.call.id, name, state.call.args, state.caller, deadline, CancelFlag())
        output = await dispatch(resolved.implementation, invocation, self._activate, self._timer)
        if self._clock() > deadline:
            log.warning("%s blocked the event loop past its deadline; async tools must not block", name)
        return output

    def _deadline(self, resolved: ResolvedTool, caller: Caller) -> float:
        """Return the end of the tool's own timeout or the caller's deadline, whichever is earlier."""
        timeout = resolved.tool.spec.timeout or resolved.implementation.spec.timeout or self._limits.timeout
        deadline = self._clock() + timeout
        return deadline if caller.deadline is None else min(deadline, caller.deadline)

    async def check_output(self, name: str, output: Any) -> tuple[Any, int]:
        """Apply the output checks to a value. Return it with secrets masked, and its size in bytes.

        Raises:
            ExecutionError: The value is too large or cannot be serialized.
        """
        return await self._output_guard.check(name, output, self._credentials.redactor)

    def mask(self, text: str) -> str:
        """Return a text with secrets masked."""
        return self._credentials.redact(text)

    def _record(self, state: "_CallState", meta: CallMeta) -> None:
        self._recorder.add(state.call, state.caller, meta, state.sizes, state.tool_id)

    def _meta(self, state: "_CallState", reason: Reason | None = None, exception: str = "") -> CallMeta:
        duration_ms = round((self._clock() - state.start) * 1000, 3)
        if state.resolved is None:
            name = truncate_middle(str(state.call.name), MAX_NAME_LENGTH)  # any object, if a pack passes it
            return CallMeta(name, state.call.id, duration_ms, reason=reason)
        spec = state.resolved.tool.spec
        is_mock = spec.impl == "mock"
        return CallMeta(spec.name, state.call.id, duration_ms, spec.version, reason, exception, is_mock)

    def _failure(self, state: "_CallState", error: ToolError) -> ToolResult:
        meta = self._meta(state, error.reason, error.builtin if isinstance(error, ToolRaised) else "")
        return ToolResult.failure(
            meta,
            error.reason,
            truncate_middle(state.credentials.redact(str(error)), MAX_MESSAGE_LENGTH),
            data=self._error_text(state, error.text) if isinstance(error, ToolReturnedError) else None,
            raised=error.error if isinstance(error, ToolRaised) else error,
        )

    def _error_text(self, state: "_CallState", text: ErrorText) -> ErrorText:
        return ErrorText(truncate_middle(state.credentials.redact(text), self._limits.max_output_bytes))


def _without_nulls(call: ToolCall, resolved: ResolvedTool) -> ToolCall:
    """Return the call without the arguments for which None means that they are omitted."""
    args = call.args
    if not isinstance(args, dict) or None not in args.values():
        return call
    return call._replace(args=omit_nulls(resolved.tool.spec.input_schema, args))


def _collect_credentials(caller: Caller, credentials: CredentialSet) -> Caller:
    """Return the caller for an outermost call. Its nested calls add their credentials to the same ones."""
    on_progress = caller.on_progress
    if on_progress is not ignore_progress:
        on_progress = RedactedProgress(on_progress, credentials)
    return replace(caller, credentials=credentials, on_progress=on_progress)


@dataclass(slots=True)
class _CallState:
    """The data that the steps collect about one call."""

    call: ToolCall
    caller: Caller
    credentials: CredentialSet
    """What the call and its nested calls have used so far. Redacted in the result."""
    start: float
    resolved: ResolvedTool | None = None
    bytes_in: int = 0
    bytes_out: int = 0

    @property
    def sizes(self) -> tuple[int, int]:
        return self.bytes_in, self.bytes_out

    @property
    def tool_id(self) -> str | None:
        return self.resolved.tool.spec.id if self.resolved else None
