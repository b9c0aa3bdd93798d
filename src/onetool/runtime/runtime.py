"""Runtime: runs calls and code with the current state."""

import asyncio
import time
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import replace
from functools import partial
from typing import Any

from onetool.domain.activity.record import RUN
from onetool.domain.calls.call import CallSource, ToolCall, ToolResult
from onetool.domain.calls.caller import Caller
from onetool.domain.calls.invocation import Invocation
from onetool.domain.calls.question import Asker
from onetool.domain.content.parts import media_in
from onetool.domain.errors import ToolError
from onetool.domain.identity.principal import Principal
from onetool.domain.jobs.job import Job
from onetool.pipeline.code_runner import CodeResult
from onetool.pipeline.recorder import Recorder
from onetool.pipeline.run_records import StartedRun
from onetool.pipeline.sandbox_callbacks import SandboxCallbacks
from onetool.pipeline.token_savings import TokenSavings
from onetool.ports import (
    AuditLog,
    ClientSessionStore,
    JobQueue,
    ReloadSignal,
    SessionApprovalStore,
    SessionLeases,
    SessionStore,
)
from onetool.settings.configuration import Configuration
from onetool.telemetry import names
from onetool.telemetry.spans import start_span
from onetool.threads import Threads

from .jobs import Jobs, Work
from .reload import Reloader
from .run_progress import RunProgress
from .state import State
from .submitted_calls import SubmittedCalls

__all__ = ["CodeResult", "Runtime"]

TEXT_SOURCES: frozenset[CallSource] = frozenset({"cli", "ask", "run", "rest"})
"""Sources of calls whose callers see media as one line, with a handle that must be readable."""


class Runtime:
    """One running OneTool. Every interface sends its calls here."""

    def __init__(
        self,
        *,
        read: Callable[[], Configuration],
        build: Callable[[Configuration, "Runtime"], Awaitable[State]],
        recorder: Recorder,
        savings: TokenSavings,
        sessions: SessionStore,
        session_leases: SessionLeases,
        session_approvals: SessionApprovalStore,
        jobs: Jobs,
        client_sessions: ClientSessionStore,
        request_key: bytes,
        threads: Threads,
        signal: ReloadSignal,
        new_id: Callable[[], str],
        queue: JobQueue | None = None,
        audit: AuditLog | None = None,
    ) -> None:
        """Create a runtime.

        queue: where jobs wait for a worker. None: they run in this process.
        audit: who has changed what. None: changes are not recorded.
        """
        self.audit = audit
        """Who has changed what; None in local mode."""
        self.recorder = recorder
        """Records finished calls; has their statistics."""
        self.sessions = sessions
        """Stored conversations with chat models."""
        self.session_leases = session_leases
        """Which of them have a question in progress, at any process."""
        self.session_approvals = session_approvals
        """What is always approved in them."""
        self.jobs = jobs
        """Calls that wait for an answer or take long."""
        self.submitted = SubmittedCalls(jobs, self.call_tool, lambda: self.state.configuration, queue)
        """Calls that clients do not wait for."""
        self.client_sessions = client_sessions
        """What MCP clients have set in their sessions."""
        self.request_key = request_key
        """Seals what MCP clients send back. All processes of the user have the same one."""
        self.threads = threads
        """Runs blocking work."""
        self.new_id = new_id
        """Returns a new unique id."""
        self.loop: asyncio.AbstractEventLoop
        self._savings = savings
        jobs.continue_task = self._continue_task
        self._reloader = Reloader(
            read=read, build=lambda configuration: build(configuration, self), signal=signal, threads=threads
        )

    async def start(self, configuration: Configuration) -> None:
        """Build the first state, in the event loop that will run the calls."""
        self.loop = asyncio.get_running_loop()
        self.threads.watchdog.start(self.loop)
        await self._reloader.start(configuration)

    @property
    def state(self) -> State:
        """The current state. Read it once per request."""
        return self._reloader.state

    async def call(self, call: ToolCall, caller: Caller) -> ToolResult:
        """Run a call through the pipeline. A failed call is a result too."""
        if caller.depth == 0 and self._reloader.is_pending:
            await self._reloader.reload_if_changed()
        state = self._reloader.state
        result = await state.pipeline.run(call, caller)
        if call.source in TEXT_SOURCES and (media := media_in(result.parts)):
            await state.model_output.store_media(media, result.meta.tool, caller.principal)
        return result

    async def call_tool(
        self, name: str, args: Mapping[str, Any], caller: Caller, source: CallSource
    ) -> ToolResult:
        """Call a tool by name, under a new call id."""
        return await self.call(ToolCall(id=self.new_id(), name=name, args=args, source=source), caller)

    async def run(self, code: str, caller: Caller) -> CodeResult:
        """Run code that a model wrote. Each tool call in it goes through the pipeline for the same caller."""
        with start_span(names.EXECUTE_TOOL) as span:
            result = await self._run_recorded(code, caller)
            attributes = {names.TOOL: RUN, names.INTERFACE: caller.interface}
            span.describe(RUN, attributes, result.error.reason if result.error else None)
        return result

    async def _run_recorded(self, code: str, caller: Caller) -> CodeResult:
        if caller.depth == 0:
            await self.reload_if_changed()
        started, state = StartedRun(self.new_id(), code, caller), self.state
        try:
            result = await self._run(code, caller, state, started.id)
        except asyncio.CancelledError:
            self.recorder.add(started.cancelled(state.redactor))
            raise
        self.recorder.add(started.finished(result, state.redactor))
        return result

    async def run_program(
        self, source: str, variables: Mapping[str, Any], invocation: Invocation
    ) -> CodeResult:
        """Run the program of a tool with these variables, under the deadline and the caller of its call.

        Raises:
            ExecutionError: Programs are nested too deeply.
        """
        state = self.state
        caller = replace(invocation.caller, programs=max(1, invocation.caller.programs))
        lease = state.code_runner.lease(caller, is_stored=True)
        own = lease.occupied_by(caller).nested(invocation.deadline, invocation.call_id)
        own = replace(own, programs=caller.programs + 1)
        callbacks = self._callbacks(own, state)
        return await state.code_runner.run_stored(source, variables, own, callbacks, lease)

    def _callbacks(self, caller: Caller, state: State) -> SandboxCallbacks:
        """Return what runs the calls of a program for a caller."""
        call_tool = partial(self._call_from_code, caller, RunProgress(caller.on_progress))
        max_args_bytes = state.configuration.settings.execution.max_args_bytes
        return SandboxCallbacks(call_tool, self.loop, max_args_bytes)

    async def _run(self, code: str, caller: Caller, state: State, id: str) -> CodeResult:
        execution = state.configuration.settings.execution
        timeout = max(execution.run_timeout_s, caller.min_timeout, caller.handover_timeout)
        nested = replace(caller.nested(time.monotonic() + timeout, id), programs=caller.programs + 1)
        callbacks = self._callbacks(nested, state)
        result = await state.code_runner.run(code, nested, callbacks, state.code_runner.lease(caller))
        if result.ok or callbacks.call_count:
            await self._savings.count_run(caller, callbacks.call_count, state.catalog)
        if not result.ok:
            finished = tuple(callbacks.finished_calls)
            return result._replace(calls=tuple(callbacks.nested_calls), finished_calls=finished)
        beside = callbacks.media_beside(result.data)
        media = (*result.media, *beside)
        return result._replace(calls=tuple(callbacks.nested_calls), media=media, beside=beside)

    async def reload_if_changed(self) -> None:
        """Follow a reload of another process, as every call does."""
        await self._reloader.reload_if_changed()

    async def reload(self) -> Mapping[str, Any]:
        """Reload the configuration here and, before their next call, in the user's other processes.

        Returns the names of the settings that only a restart applies, with the values that stay active.

        Raises:
            SettingsError: A file is invalid. The previous state stays active.
        """
        return await self._reloader.reload()

    async def _continue_task(self, job: Job) -> tuple[Work, Caller] | None:
        """Return what waits for the task of a job, if the server is the same here, and who calls."""
        task = job.task
        if task is None:
            return None
        execution = self.state.configuration.settings.execution
        left_s = job.created_at + execution.job_timeout_s - time.time()
        asker = Asker(capabilities=task.capabilities)
        caller = Caller(
            interface="job", principal=Principal.of_scope(job.principal), asker=asker, handover_timeout=left_s
        )
        try:
            resolved = await self.state.catalog.resolve(job.tool, caller)
        except ToolError:
            return None
        if resolved.implementation.endpoint != task.endpoint:
            return None
        call = ToolCall(self.new_id(), job.tool, {}, "mcp", task)
        return lambda own: self.call(call, own), caller

    async def _call_from_code(
        self, caller: Caller, progress: RunProgress, name: str, args: Mapping[str, Any]
    ) -> ToolResult:
        caller = replace(caller, on_progress=progress.of(name))
        return await self.call_tool(name, args, caller, "run")
