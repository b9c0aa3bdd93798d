"""A call that may become a job, in the process that runs it."""

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from dataclasses import replace
from secrets import token_hex

from onetool.domain.calls.approval_request import ApprovalRequest
from onetool.domain.calls.caller import (
    Caller,
    ProgressHandler,
    ask_user,
    ignore_progress,
)
from onetool.domain.calls.question import (
    CANCELLED,
    SHOW_EVERYTHING,
    Answer,
    Question,
    approval_question,
)
from onetool.domain.calls.server_task import ServerTask
from onetool.domain.errors import ExecutionError, Reason
from onetool.domain.jobs.job import Job, JobStatus, NestedStep, OpenQuestion, Progress, is_question_id
from onetool.ports.jobs import JobStore
from onetool.threads import Threads

from .outcomes import Outcome

log = logging.getLogger(__name__)
MAX_OPEN = 8
"""Questions of one call at a time. Further ones wait."""
MAX_QUESTION_LENGTH = 4_096
ANSWER_TIMEOUT_S = 600.0
WRITE_INTERVAL_S = 0.2
"""Seconds for which changes are collected before the job is written."""
EXPIRED = Answer("cancel", {"expired": True})
Present = Callable[[str, OpenQuestion], Awaitable[Answer | None]]
"""Shows a question of a job to the user. None: the answer will be given to the job itself."""

AwaitedAnswers = dict[str, asyncio.Future[Answer]]


class CallJob:
    """One outermost call. It is stored from its first question on, or once it is handed over."""

    _background: Sequence[asyncio.Task[None]] = ()
    """Read what other processes have written, and write what has changed here."""

    def __init__(
        self,
        store: JobStore,
        threads: Threads,
        caller: Caller,
        job: Job,
        *,
        present: Present | None,
        now: Callable[[], float] = time.time,
    ) -> None:
        self._store, self._threads, self.present, self._now = store, threads, present, now
        self.job, self.is_stored, self.is_detached = job, False, False
        """Whether it is in the store, and whether it goes on if the request that started it ends."""
        self.cancelled: Job | None = None
        """The job as it was when the call was cancelled."""
        self.hands_over_tasks = False
        """Whether the client prefers a job as soon as a server continues the call as a task."""
        self.outcome: Outcome | None = None
        self.task: asyncio.Task[Outcome] | None = None
        """Runs the call, if it may outlast the request that started it."""
        self.on_progress: ProgressHandler = caller.on_progress
        """Receives the progress as well; another request may take over."""
        self.waits_for_task, self.ended = asyncio.Event(), asyncio.Event()
        """Set when the call begins to wait for a task, and a cancellation reaches the server; and when this
        process has nothing to do any more for a call that has a task."""
        self._steps: dict[tuple[str, bool], int] = {}
        """How many calls of each tool have begun, and how many of them have ended."""
        self._open, self._expected = AwaitedAnswers(), AwaitedAnswers()
        """Answers to questions, and responses of the client that other processes may receive."""
        self._complete: dict[str, ApprovalRequest] = {}
        self._question_ids = set[str]()
        self._turns, self._writing = asyncio.Semaphore(MAX_OPEN), asyncio.Lock()
        self._version, self._written = 0, 0
        self._changed, self._is_unwritten = asyncio.Event(), asyncio.Event()
        self._writes: set[asyncio.Task[None]] = set()
        self.on_store: Callable[[], None] = lambda: None
        """Called before the job is stored for the first time."""
        self.check_waiting: Callable[[], None] = lambda: None
        """Called before the call begins to wait for answers. Raises ExecutionError if too many calls wait."""
        self.caller = self._caller(caller)
        """The caller for the call."""

    def _caller(self, caller: Caller) -> Caller:
        return replace(
            caller,
            deadline=caller.current_deadline,
            pauses=caller.pauses.fresh(),
            paused_before=0.0,
            approve=self._approve if caller.approve is ask_user else caller.approve,
            asker=replace(caller.asker, ask=self._ask),
            on_progress=self._report,
            on_step=self._note_step,
            on_task=self._note_task,
        )

    # What the call does

    async def _approve(self, request: ApprovalRequest) -> bool:
        answer = await self._ask(approval_question(request))
        if request.hides_something and answer.fields.get(SHOW_EVERYTHING):
            complete = await self._threads.run(request.complete_text)
            answer = await self._ask(approval_question(request, complete))
        return answer.fields.get("allow") is True

    async def _ask(self, question: Question) -> Answer:
        """Ask a question and wait for the answer.

        Raises:
            ExecutionError: The question is too long, or too many calls wait for answers.
        """
        if (
            question.kind != "approval"
            and len(question.message.encode("utf-8", "replace")) > MAX_QUESTION_LENGTH
        ):
            message = f"{self.job.tool} asks a question of more than {MAX_QUESTION_LENGTH:,} bytes."
            raise ExecutionError(Reason.UPSTREAM, message)
        async with self._turns:
            return await self._open_question(question)

    async def _open_question(self, question: Question) -> Answer:
        if not self._open:
            self.check_waiting()
        opened = OpenQuestion.of(self._question_id(question.key), question)
        future: asyncio.Future[Answer] = asyncio.get_running_loop().create_future()
        self._open[opened.id] = future
        presenting: asyncio.Task[None] | None = None
        try:
            self._set(questions=(*self.job.questions, opened), status="input_required")
            if question.approval is not None:
                self._complete[opened.id] = question.approval
            await self._save_question()
            if self.present is not None:
                presenting = asyncio.create_task(self._present(self.present, opened))
            async with asyncio.timeout(ANSWER_TIMEOUT_S):
                return await future
        except TimeoutError:
            return await self._expire(opened.id)
        finally:
            if presenting is not None:
                presenting.cancel()
            self._open.pop(opened.id, None)
            self._complete.pop(opened.id, None)
            self._close_question(opened.id)

    async def _save_question(self) -> None:
        """Store a question.

        Raises:
            ExecutionError: It cannot be stored, and no client waits here that could be asked without that.
        """
        try:
            await self.save()
        except OSError as error:
            log.error("cannot store a question of job %s: %s", self.job.id, error)
            if self.present is None:
                message = f"{self.job.tool} asks a question that cannot be stored: {error.strerror}."
                raise ExecutionError(Reason.RAISED, message) from error

    def _question_id(self, key: str) -> str:
        """Return the server's own name, or a new one if it was used before: answers are stored by id."""
        id = key if is_question_id(key) and key.lower() not in self._question_ids else token_hex(8)
        self._question_ids.add(id.lower())
        return id

    async def _present(self, present: Present, opened: OpenQuestion) -> None:
        try:
            answer = await present(self.job.id, opened)
        except Exception:
            log.exception("asking the user failed")
            answer = CANCELLED
        if answer is not None and await self._accept(opened.id, answer):
            self.deliver(opened.id, answer)

    async def _accept(self, question: str, answer: Answer) -> bool:
        """Store an answer. Return whether it is the first one."""
        try:
            if await self._store.answer(self.job.id, question, answer):
                return True
            return await self._store.find(self.job.id) is None
        except OSError as error:  # no other process can store one either
            log.error("cannot store an answer to job %s: %s", self.job.id, error)
            return True

    async def _expire(self, question: str) -> Answer:
        """Close a question without an answer, unless one arrives at this moment."""
        if await self._accept(question, EXPIRED):
            return CANCELLED
        return (await self._store.messages(self.job.id)).answers.get(question, CANCELLED)

    def _close_question(self, id: str) -> None:
        questions = tuple(question for question in self.job.questions if question.id != id)
        status: JobStatus = "input_required" if questions else "running"
        if not self.job.is_ended:
            self._set(questions=questions, status=status)

    def _report(self, done: float, total: float | None, message: str) -> None:
        with suppress(TypeError, ValueError, OverflowError):  # tools may report anything
            progress = Progress(float(done), None if total is None else float(total), str(message))
            self.job = self.job._replace(progress=progress)
            self._note_version()
        self.on_progress(done, total, message)

    async def _note_step(self, tool: str, is_ended: bool) -> None:
        """Note that a call begins or has ended. The beginning is stored before the call is made."""
        if is_ended:
            self._count_step(tool, False, -1)
        self._count_step(tool, is_ended, 1)
        if self.is_stored and not is_ended:
            try:
                await self.save()
            except BaseException:
                self._count_step(tool, False, -1)  # the call is not made
                raise

    def _count_step(self, tool: str, is_ended: bool, change: int) -> None:
        count = self._steps.get((tool, is_ended), 0) + change
        self._steps[tool, is_ended] = count
        if not count:
            del self._steps[tool, is_ended]
        steps = [NestedStep(tool, is_ended, count) for (tool, is_ended), count in self._steps.items()]
        self.job = self.job._replace(steps=tuple(steps))
        self._note_version()

    async def _note_task(self, task: ServerTask) -> None:
        """Note that a server continues the call as a task, before a client is told about it."""
        if self.task is None:  # more than this call may happen in the block that has the caller
            task = task._replace(endpoint="")
        self._set(task=task)
        if self.is_stored:
            await self.save()
        self.waits_for_task.set()

    # What others do

    @property
    def has_questions(self) -> bool:
        """Whether a question is open."""
        return bool(self._open)

    def request(self, question: str) -> ApprovalRequest | None:
        """Return the call that a question asks to approve."""
        return self._complete.get(question)

    def deliver(self, question: str, answer: Answer) -> None:
        """Give the call an answer that the store has accepted."""
        future = self._open.get(question) or self._expected.get(question)
        if future is not None and not future.done():
            future.set_result(answer)

    def expects(self, request: str) -> bool:
        """Return whether the response to a request to the client is missing."""
        return request in self._expected

    def expect(self, request: str) -> "asyncio.Future[Answer]":
        """Return the response to a request to the client, once another process has stored it."""
        future = self._expected[request] = asyncio.get_running_loop().create_future()
        future.add_done_callback(lambda _: self._expected.pop(request, None))
        return future

    @property
    def next_change(self) -> asyncio.Event:
        """Set when the questions or the status change the next time."""
        return self._changed

    def open_questions(self, answered: Sequence[str] = ()) -> Sequence[OpenQuestion]:
        """Return the questions that are open and not among those just answered."""
        return [question for question in self.job.questions if question.id not in answered]

    @property
    def can_be_left(self) -> bool:
        """Whether another process can wait for the task of a server, which is all that is left to do."""
        task = self.job.task
        return self.is_stored and self.is_detached and task is not None and bool(task.endpoint)

    def leave(self) -> None:
        """Leave the job to another process, as it is in the store."""
        self._end_background()

    def cancel(self, reason: str = "") -> None:
        """Cancel the call once: a second cancellation would interrupt its clean-up."""
        if self.task is not None and self.cancelled is None:
            self.cancelled = self.job
            self.task.cancel(reason)

    async def save(self) -> None:
        """Write the job to the store. From the first time on, other processes can answer and cancel it.

        If the caller is cancelled, the job is written nevertheless, before anything that is written later.

        Raises:
            OSError: It cannot be written.
        """
        if not self.is_stored:
            self.on_store()
            self.is_stored = True
        write = asyncio.create_task(self._write())
        self._writes.add(write)
        write.add_done_callback(self._writes.discard)
        try:
            await asyncio.shield(write)
        except asyncio.CancelledError:
            write.add_done_callback(_consume_exception)
            raise

    async def _write(self) -> None:
        if not self._background and not self.job.is_ended:
            work = (self._watch(), self._write_changes())
            self._background = [asyncio.create_task(each) for each in work]
        async with self._writing:
            version = self._version
            await self._store.put(self.job)
            self._written = version

    async def detach(self) -> None:
        """Let the call outlast the request that started it."""
        self.is_detached, self.present, self.on_progress = True, None, ignore_progress
        await self.save()

    def end(self, status: JobStatus, *, result: str = "", error: str = "") -> None:
        """End the job, without storing it. Its open questions count as cancelled."""
        self._end_background()
        ended_at = self.job.ended_at or self._now()
        self._set(status=status, questions=(), result=result, error=error, ended_at=ended_at)
        for question in list(self._open):
            self.deliver(question, CANCELLED)

    def _set(self, **fields: object) -> None:
        self.job = self.job._replace(**fields)  # type: ignore[arg-type]
        self._note_version()
        changed, self._changed = self._changed, asyncio.Event()
        changed.set()

    def _note_version(self) -> None:
        self._version += 1
        self._is_unwritten.set()

    def _end_background(self) -> None:
        for task in self._background:
            task.cancel()

    async def _watch(self) -> None:
        """Read what other processes have written."""
        while True:
            seen = self._store.generation(self.job.id)
            try:
                messages = await self._store.messages(self.job.id)
                for question, answer in messages.answers.items():
                    self.deliver(question, answer)
                if messages.is_cancelled:
                    self.cancel()
            except Exception:  # root of a background task: the call itself goes on
                log.exception("cannot read answers to job %s", self.job.id)
            await self._store.wait_for_change(self.job.id, seen, ANSWER_TIMEOUT_S)

    async def _write_changes(self) -> None:
        """Write what has changed, for those who look at the job."""
        while True:
            await self._is_unwritten.wait()
            await asyncio.sleep(WRITE_INTERVAL_S)
            self._is_unwritten.clear()
            try:
                if self._version != self._written:
                    await self.save()
            except Exception:  # root of a background task; the disk may be full: the call itself goes on
                log.exception("cannot update job %s", self.job.id)
                self._is_unwritten.set()


def _consume_exception(task: "asyncio.Task[None]") -> None:
    """Mark the exception of a task as retrieved: asyncio reports it otherwise if no one awaits the task."""
    if not task.cancelled():
        task.exception()
