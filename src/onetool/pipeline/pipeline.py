"""The pipeline: the steps that every call runs through, in the order of `Pipeline._run_steps`."""

import asyncio
import logging
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import Any

from onetool.catalog.catalog import Catalog, ResolvedTool
from onetool.domain.calls.call import CallMeta, ErrorText, ToolCall, ToolResult
from onetool.domain.calls.caller import Caller, ignore_log, ignore_progress
from onetool.domain.calls.effect import Effect
from onetool.domain.calls.invocation import CancelFlag, Invocation, TimeLimit
from onetool.domain.content.content import Content, ToolReportedError
from onetool.domain.content.media import Media, find_media
from onetool.domain.errors import ExecutionError, Reason, StoreUnavailable, ToolError, ToolNotFound
from onetool.domain.secrets.credential_set import CredentialSet
from onetool.domain.text.strings import truncate_middle
from onetool.domain.tools.parameter_names import to_schema_names
from onetool.domain.tools.signature import omit_nulls
from onetool.logs import redacting
from onetool.ports import OwnSecrets
from onetool.telemetry import names
from onetool.telemetry.spans import NO_SPAN, Attributes, NoSpan, start_span
from onetool.threads import Threads

from .admission import Admission
from .approval import Approver
from .deadline import DeadlineTimer
from .dispatch import ActivateCall, ToolRaised, ToolReturnedError, dispatch
from .output_guard import CheckedOutput, OutputGuard
from .recorder import FinishedCall, Recorder
from .redacted_progress import RedactedLog, RedactedProgress
from .validation import SchemaValidator

log = logging.getLogger(__name__)

MAX_MESSAGE_LENGTH = 4_000
MAX_NAME_LENGTH = 300
"""Length at which the name of an unknown tool is truncated in records."""
SDK = "sdk"
"""Source of calls from one pack to another. Their output stays in the process, as native objects."""
SERVER_TIMEOUT, BUNDLE_TIMEOUT = "timeout_s of its server", "limits.timeoutMS of the tool"
OWN_TIMEOUTS = MappingProxyType(
    {"pack": "@tool(timeout=...)", "proxy": SERVER_TIMEOUT, "bundle": BUNDLE_TIMEOUT}
)
"""What sets the time limit of a tool that has its own, by the origin of the tool."""
DEFAULT_TIMEOUTS = MappingProxyType(
    {
        "pack": "execution.timeout_s, or @tool(timeout=...)",
        "proxy": SERVER_TIMEOUT,
        "bundle": f"execution.timeout_s, or {BUNDLE_TIMEOUT}",
    }
)
"""What sets the time limit of a tool that has none of its own, by the origin of the tool."""


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
        approver: Approver | None = None,
        credentials: CredentialSet | None = None,
        own_secrets: OwnSecrets | None = None,
        threads: Threads | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._limits = limits or CallLimits()
        self._catalog, self._recorder, self._activate = catalog, recorder, activate
        self._credentials, threads = credentials or CredentialSet(), threads or Threads()
        self._own_secrets = own_secrets
        self._approver = approver or Approver(threads)
        self._validator = SchemaValidator(self._limits.max_args_bytes)
        self._admission = admission
        self._output_guard = OutputGuard(self._limits.max_output_bytes, threads)
        self._clock = clock
        self._timer = DeadlineTimer()

    async def run(self, call: ToolCall, caller: Caller) -> ToolResult:
        """Run a call through all steps, record it and return its result."""
        credentials = caller.credentials or CredentialSet(self._credentials)
        with start_span(names.EXECUTE_TOOL) as span, redacting(credentials):
            return await self._run(call, caller, credentials, span)

    async def _run(
        self, call: ToolCall, caller: Caller, credentials: CredentialSet, span: NoSpan
    ) -> ToolResult:
        if caller.credentials is None:
            caller = _collect_credentials(caller, credentials)
        state = _CallState(call, caller, credentials, self._clock(), span)
        try:
            data = await self._run_steps(state)
            result = ToolResult(True, self._meta(state), data, content=state.content, media=state.media)
        except ToolError as error:
            if isinstance(error, ToolNotFound):
                self._note_hiding(state)
            result = self._failure(state, error)
        except Exception as error:  # a bug of ours must not reach the caller as an exception
            log.exception("internal error in a call of %r", call.name)
            message = f"Internal error in a call of {call.name!r}: {type(error).__name__}."
            result = self._failure(state, ExecutionError(Reason.RAISED, message))
        except asyncio.CancelledError:
            self._record(state, self._meta(state, Reason.CANCELLED), "")
            raise
        self._record(state, result.meta, result.error.message if result.error else result.data)
        return result

    def _note_hiding(self, state: "_CallState") -> None:
        """Note the rule that hides the name of a call. It does not show whether there is such a tool."""
        rule = self._catalog.policy.name_rule(str(state.call.name), state.caller)
        if rule is not None:
            state.decision = f"{Effect.HIDDEN}: {rule}"

    async def _run_steps(self, state: "_CallState") -> Any:
        """Resolve, validate, admit, approve, run, validate the output. Return the output."""
        caller, call = state.caller, state.call
        with _before_call(call.name):
            state.resolved = resolved = await self._catalog.resolve(call.name, caller)
            await self._give_secrets(state)
            if call.task is None:  # otherwise this has happened before the task
                await self._prepare(state, resolved)
        # Waiting for the user does not count.
        caller = state.caller
        start, paused_before = self._clock(), caller.pauses.seconds
        limit = self._time_limit(resolved, caller, start)
        deadline = start + limit.seconds
        lease = await self._admission.acquire(resolved.tool.spec, caller, deadline)
        state.caller = lease.occupied_by(caller)
        try:
            output = await self._run_tool(state, resolved, deadline, paused_before, limit)
        except ToolReportedError as error:
            with suppress(ExecutionError):  # too large: the message remains
                await self._check_content(state, error.content)
            raise
        finally:
            lease.close()
        if isinstance(output, Content):
            return await self._finish_content(state, resolved, output)
        self._validator.validate_output(resolved, output)
        if call.source == SDK:
            return output
        checked = await self._output_guard.check(call.name, output, state.credentials.redactor)
        state.bytes_out, state.media = checked.size, checked.media
        return checked.value

    async def _give_secrets(self, state: "_CallState") -> None:
        """Give a call the secrets of its principal. They are redacted in its result."""
        if self._own_secrets is None or state.caller.own_secrets:
            return
        if secrets := await self._own_secrets.of(state.caller.principal.id):
            state.credentials.keep(secret.value for secret in secrets.values())
            state.caller = replace(state.caller, own_secrets=secrets)

    async def _prepare(self, state: "_CallState", resolved: ResolvedTool) -> None:
        """Validate the arguments, check the rate limit, and return once the call may run."""
        call = _to_schema_args(state.call, resolved)
        valid = self._validator.validate_args(resolved, call.args)
        state.call = call._replace(args=valid.args)
        state.bytes_in, state.run_args = valid.size, valid.encoded
        await self._admission.check(resolved.tool.spec, state.caller)
        await self._approve(state, resolved)

    async def _approve(self, state: "_CallState", resolved: ResolvedTool) -> None:
        """Return once the call may run. Nothing runs but what was approved."""
        call, caller = state.call, state.caller
        decision = self._catalog.policy.decide(resolved.tool.spec, resolved.implementation.spec, caller)
        state.decision = f"{decision.effect}: {decision.rule}"
        request = await self._approver.approve(resolved, call.args, caller, decision, state.credentials.mask)
        if request is None:
            return
        state.decision += "; approved"
        await self._check_unchanged(resolved, call.name, caller)
        if state.run_args is call.args:
            state.run_args = request.args
        state.call = call._replace(args=request.args)

    async def _check_unchanged(self, approved: ResolvedTool, name: str, caller: Caller) -> None:
        """Check that a tool is still the one that the user saw.

        Raises:
            ToolError: It was changed, disabled or removed while the question was open.
        """
        tool, resolved = approved.tool, await self._catalog.resolve(name, caller)
        now = resolved.tool
        decision = self._catalog.policy.decide(now.spec, resolved.implementation.spec, caller)
        if decision.effect >= Effect.DENY:
            message = f"{tool.spec.name} is denied by {decision.rule} since the user was asked."
            raise ExecutionError(Reason.NEEDS_APPROVAL, message)
        if (now.spec, now.definition) != (tool.spec, tool.definition):
            message = f"{tool.spec.name} was not called: it has changed since the user was asked."
            raise ExecutionError(Reason.NEEDS_APPROVAL, message)

    async def _finish_content(self, state: "_CallState", resolved: ResolvedTool, content: Content) -> Any:
        """Validate and check the content of a result. Return its data."""
        data = content.to_data()
        self._validator.validate_output(resolved, data)
        if state.call.source == SDK:
            state.content = content
            return data
        checked = await self._check_content(state, content)
        data = data if checked is content else checked.to_data()
        if checked.media:
            state.media = find_media(data)
        return data

    async def _check_content(self, state: "_CallState", content: Content) -> Content:
        checked, state.bytes_out = await self._output_guard.check_content(
            state.call.name, content, state.credentials.redactor
        )
        state.content = checked
        return checked

    async def _run_tool(
        self,
        state: "_CallState",
        resolved: ResolvedTool,
        deadline: float,
        paused_before: float,
        limit: TimeLimit,
    ) -> Any:
        name = resolved.tool.spec.name
        invocation = Invocation(
            state.call.id,
            name,
            state.run_args,
            state.caller,
            deadline,
            CancelFlag(),
            paused_before,
            state.call.task,
            limit,
            {},
        )
        if invocation.deadline <= self._clock():
            raise ExecutionError(Reason.TIMEOUT, f"{name} was not called: no time left.")
        on_step = None if resolved.read_only else state.caller.on_step
        if on_step is not None:
            with _before_call(name):
                await on_step(name, False)
        try:
            output = await dispatch(resolved.implementation, invocation, self._activate, self._timer)
        finally:
            if on_step is not None:
                await on_step(name, True)
        if self._clock() > invocation.deadline:
            log.warning("%s blocked the event loop past its deadline; async tools must not block", name)
        return output

    def _time_limit(self, resolved: ResolvedTool, caller: Caller, now: float) -> TimeLimit:
        """Return the tool's own timeout or the time until the caller's deadline, whichever is shorter."""
        spec, implementation = resolved.tool.spec, resolved.implementation.spec
        default = implementation.default_timeout
        of_tool = default or self._limits.timeout
        of_job = max(caller.min_timeout, caller.handover_timeout if default else 0.0)
        own, latest = spec.timeout or implementation.timeout, caller.current_deadline
        timeout = own or max(of_tool, of_job)
        if latest is not None and latest < now + timeout:
            return TimeLimit(latest - now, "")
        if own:
            return TimeLimit(own, OWN_TIMEOUTS.get(spec.origin, "the tool's own limit"))
        if of_job > of_tool:
            return TimeLimit(timeout, "execution.job_timeout_s")
        return TimeLimit(timeout, DEFAULT_TIMEOUTS.get(spec.origin, "execution.timeout_s"))

    async def check_output(self, name: str, output: Any) -> CheckedOutput:
        """Apply the output checks to a value. Return it with secrets masked.

        Raises:
            ExecutionError: The value is too large or cannot be serialized.
        """
        return await self._output_guard.check(name, output, self._credentials.redactor)

    def mask(self, text: str) -> str:
        """Return a text with secrets masked."""
        return self._credentials.redact(text)

    def _record(self, state: "_CallState", meta: CallMeta, value: Any) -> None:
        finished = FinishedCall(
            state.call,
            state.caller,
            meta,
            value,
            state.credentials.redactor,
            state.bytes_in,
            state.bytes_out,
            state.tool_id,
            state.decision,
        )
        self._recorder.add(finished)
        if state.span is not NO_SPAN:
            state.span.describe(*_description(state, meta))

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
            content=state.content,
        )

    def _error_text(self, state: "_CallState", text: ErrorText) -> ErrorText:
        return ErrorText(truncate_middle(state.credentials.redact(text), self._limits.max_output_bytes))


@contextmanager
def _before_call(name: str) -> Iterator[None]:
    """Say that a call was not made if the block cannot use a store.

    Raises:
        ExecutionError: A store is unavailable.
    """
    try:
        yield
    except StoreUnavailable as error:
        message = f"{name} was not called: {error} Try again later."
        raise ExecutionError(Reason.UNAVAILABLE, message) from error


def _to_schema_args(call: ToolCall, resolved: ResolvedTool) -> ToolCall:
    """Return the call with the schema's names, without the arguments that are omitted if they are None."""
    args, spec = call.args, resolved.tool.spec
    if not isinstance(args, dict):
        return call
    named = to_schema_names(spec, args)
    if None in named.values():
        named = omit_nulls(spec.input_schema, named)
    return call if named is args else call._replace(args=named)


def _description(state: "_CallState", meta: CallMeta) -> tuple[str, Attributes, Reason | None]:
    """Return what the span of a call says about it. Names of tools that do not exist are left out."""
    tool = meta.tool if state.resolved else names.UNKNOWN
    attributes: dict[str, str | int] = {
        names.TOOL: tool,
        names.CALL_ID: meta.call_id,
        names.INTERFACE: state.caller.interface,
        names.ARGS_SIZE: state.bytes_in,
        names.OUTPUT_SIZE: state.bytes_out,
    }
    if state.caller.interface == "mcp" and state.caller.session:
        attributes[names.SESSION_ID] = state.caller.session
    return tool, attributes, meta.reason


def _collect_credentials(caller: Caller, credentials: CredentialSet) -> Caller:
    """Return the caller for an outermost call. Its nested calls add their credentials to the same ones."""
    on_progress = caller.on_progress
    if on_progress is not ignore_progress:
        on_progress = RedactedProgress(on_progress, credentials)
    on_log = caller.on_log
    if on_log is not ignore_log:
        on_log = RedactedLog(on_log, credentials)
    return replace(caller, credentials=credentials, on_progress=on_progress, on_log=on_log)


@dataclass(slots=True)
class _CallState:
    """The data that the steps collect about one call."""

    call: ToolCall
    caller: Caller
    credentials: CredentialSet
    """What the call and its nested calls have used so far. Redacted in the result."""
    start: float
    span: NoSpan
    resolved: ResolvedTool | None = None
    run_args: Mapping[str, Any] = field(default_factory=dict)
    """The arguments that the tool gets: texts in place of media."""
    bytes_in: int = 0
    bytes_out: int = 0
    content: Content | None = None
    """What the tool of a server returned."""
    media: Sequence[Media] = ()
    """The media in the data of the result."""
    decision: str = ""
    """Why the call was allowed or denied, for the record."""

    @property
    def tool_id(self) -> str | None:
        return self.resolved.tool.spec.id if self.resolved else None
