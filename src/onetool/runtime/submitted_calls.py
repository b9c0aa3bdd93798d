"""Calls that clients do not wait for: jobs of this process, or of a worker if there is a queue."""

import asyncio
import time
from collections.abc import Awaitable, Callable, Mapping
from functools import partial
from secrets import token_hex
from typing import Any

from onetool.domain.calls.approval_request import call_digest
from onetool.domain.calls.call import CallMeta, CallSource, ToolResult
from onetool.domain.calls.caller import Caller, ask_user, never_approve
from onetool.domain.calls.effect import Effect
from onetool.domain.calls.question import NO_ASKER, Asker
from onetool.domain.errors import Reason
from onetool.domain.identity.interface import acting_through
from onetool.domain.identity.principal import Principal, acting_as, current_principal
from onetool.domain.jobs.job import KEY_RETENTION_S, Job
from onetool.domain.jobs.job_errors import KeyReused
from onetool.domain.jobs.queued_call import QueuedCall
from onetool.pipeline.code_runner import CodeResult
from onetool.ports import JobQueue
from onetool.settings.configuration import Configuration

from .jobs import Jobs, Work

ASKER = Asker(capabilities={"elicitation": {"form": {}, "url": {}}})
"""What the user of a client without a protocol for questions can be asked. The job of a call asks."""
CallTool = Callable[[str, Mapping[str, Any], Caller, CallSource], Awaitable[ToolResult]]


def direct_caller(configuration: Configuration, *, can_ask: bool, **fields: Any) -> Caller:
    """Return the caller of a call that the user makes directly.

    can_ask: whether the user can be asked during the call.
    """
    return Caller(
        interface="rest",
        default_effect=Effect.ALLOW,
        approve=ask_user if can_ask else never_approve,
        asker=ASKER.with_roots(configuration.shown_roots) if can_ask else NO_ASKER,
        **fields,
    )


class SubmittedCalls:
    """Starts calls as jobs, and runs those that wait in the queue."""

    def __init__(
        self,
        jobs: Jobs,
        call_tool: CallTool,
        configuration: Callable[[], Configuration],
        queue: JobQueue | None = None,
        now: Callable[[], float] = time.time,
    ) -> None:
        """queue: where jobs wait for a worker. None: they run in this process."""
        self._jobs, self._call_tool, self._configuration = jobs, call_tool, configuration
        self._queue, self._now = queue, now
        self._starting = asyncio.Lock()

    async def submit(self, call: QueuedCall, key: str = "") -> Job:
        """Start a call as a job of the current principal and return at once.

        key: within KEY_RETENTION_S, the same key returns the same job.

        Raises:
            ExecutionError: Too many jobs wait or run, or the job cannot be stored.
            KeyReused: The key stands for a job with other arguments.
        """
        digest, principal = call_digest(call.tool, call.args), current_principal()
        call = call._replace(patterns=principal.patterns, key=principal.key, profile=principal.profile)
        if self._queue is None:
            async with self._starting:
                job = await self._find(key, principal) or await self._start(call, digest, key)
        else:
            id, now = token_hex(16), self._now()
            new = Job(id, principal.scope, call.tool, digest, "", now, "queued", idempotency_key=key)
            job = await self._queue.put(new, call)
        if job.digest != digest:
            raise KeyReused(key)
        return job

    async def run_queued(
        self,
        id: str,
        on_claim: Callable[[], None],
        refusal: Callable[[Principal], Awaitable[str]],
    ) -> None:
        """Run a queued job until its end is stored. Do nothing if it is not queued any more.

        on_claim: called as soon as no other process can run it.
        refusal: returns why a principal must not make calls any more; empty if it may.
        """
        claimed = None if self._queue is None else await self._queue.claim(id)
        on_claim()
        if claimed is None:
            return
        job, call = claimed
        principal = Principal.of_scope(job.principal, call.patterns, call.key, call.profile)
        with acting_as(principal), acting_through("job"):
            work = _unless_refused(job, partial(refusal, principal), self._work(call))
            await self._jobs.run_claimed(work, self._caller(call), job)

    async def _find(self, key: str, principal: Principal) -> Job | None:
        """Return the job that a key stands for."""
        if not key:
            return None
        since = self._now() - KEY_RETENTION_S
        own = [job for job in await self._jobs.list(principal) if job.principal == principal.scope]
        return next((job for job in own if job.idempotency_key == key and job.created_at > since), None)

    async def _start(self, call: QueuedCall, digest: str, key: str) -> Job:
        return await self._jobs.start(self._work(call), self._caller(call), call.tool, digest, key=key)

    def _work(self, call: QueuedCall) -> Work:
        return lambda own: self._call_tool(call.tool, call.args, own, "rest")

    def _caller(self, call: QueuedCall) -> Caller:
        configuration = self._configuration()
        return direct_caller(
            configuration,
            can_ask=call.can_ask,
            min_timeout=configuration.settings.execution.job_timeout_s,
        )


def _unless_refused(job: Job, refusal: Callable[[], Awaitable[str]], work: Work) -> Work:
    """Return work that makes its call only if nothing is said against it.

    What goes wrong when that is asked ends the job like a failure of its call.
    """

    async def run(caller: Caller) -> ToolResult | CodeResult:
        if why := await refusal():
            meta = CallMeta(job.tool, job.id, 0.0, reason=Reason.NOT_ALLOWED)
            return ToolResult.failure(meta, Reason.NOT_ALLOWED, why)
        return await work(caller)

    return run
