"""Jobs: limits, answers from other processes, cancellation at any moment, and stores that fail."""

import asyncio
import errno
from contextlib import asynccontextmanager

import pytest

from onetool.domain.calls.call import CallMeta, ToolResult
from onetool.domain.calls.caller import Caller, ask_user
from onetool.domain.calls.question import CANCELLED, Answer, Asker, Question
from onetool.domain.calls.server_task import ServerTask
from onetool.domain.content.media import Media
from onetool.domain.errors import ExecutionError, Reason, WorkspaceUnavailable
from onetool.domain.identity.principal import LOCAL, Principal
from onetool.domain.jobs.job import RETENTION_S, Job
from onetool.domain.jobs.job_errors import AnswerRefused, JobEnded, JobNotFound, JobTakenOver
from onetool.runtime.call_job import ANSWER_TIMEOUT_S
from onetool.runtime.job_limits import MAX_WAITING, MAX_WAITING_PER_PRINCIPAL
from onetool.runtime.jobs import Jobs
from onetool.storage.files.jobs import FileJobs
from onetool.storage.files.results import FileResults
from onetool.storage.memory.jobs import MemoryJobs
from onetool.storage.memory.results import MemoryResults
from onetool.threads import Threads
from support.images import make_png
from support.virtual_clock import with_virtual_clock
from support.waiting import HANG_S, until

FORM = {"type": "object", "properties": {"name": {"type": "string"}}, "required": ["name"]}
ANN = Answer("accept", {"name": "Ann"})
DISK_FULL = OSError(errno.ENOSPC, "No space left on device")


def result(data: object, ok: bool = True) -> ToolResult:
    return ToolResult(ok, CallMeta("demo.tool", "1", 1.0), data)


def caller(principal: str = LOCAL.id, **fields) -> Caller:
    asker = Asker(capabilities={"elicitation": {}})
    return Caller(interface="mcp", principal=Principal(principal), asker=asker, approve=ask_user, **fields)


def form(message: str = "Name?") -> Question:
    return Question(kind="form", message=message, schema=FORM)


async def ask_name(own: Caller) -> ToolResult:
    return result((await own.ask(form())).fields.get("name"))


async def hang(own: Caller) -> ToolResult:
    await asyncio.Event().wait()
    return result(None)


class NoThreads(Threads):
    """Runs everything at once, because virtual time passes while a thread works."""

    async def run(self, function, *args):
        return function(*args)


class FailingJobs(MemoryJobs):
    """A store that raises while `problem` is set."""

    problem: Exception | None = None

    async def put(self, job: Job) -> None:
        if self.problem:
            raise self.problem
        await super().put(job)

    async def answer(self, id: str, question: str, answer: Answer) -> bool:
        if self.problem:
            raise self.problem
        return await super().answer(id, question, answer)


class FailingResults(MemoryResults):
    problem: Exception | None = None

    async def put(self, text, tool, ttl_s=0.0, *, owner):
        if self.problem:
            raise self.problem
        return await super().put(text, tool, ttl_s, owner=owner)


@asynccontextmanager
async def running(store=None, results=None, **options):
    jobs = Jobs(store or MemoryJobs(), results or MemoryResults(), NoThreads(), **options)
    try:
        yield jobs
    finally:
        await jobs.close()
        leftover = asyncio.all_tasks() - {asyncio.current_task()}
        await asyncio.wait(leftover or {asyncio.ensure_future(asyncio.sleep(0))}, timeout=1)
        assert not asyncio.all_tasks() - {asyncio.current_task()}, "a coroutine remains"


async def suspend(jobs: Jobs, work=ask_name, own: Caller | None = None, **options) -> Job:
    job = await jobs.run(work, own or caller(), "demo.tool", "d", **options)
    assert isinstance(job, Job)
    assert job.status == "input_required"
    return job


@pytest.fixture
def processes(tmp_path):
    """Return a function that creates the jobs of another process on the same files."""

    def create() -> Jobs:
        threads = Threads()
        return Jobs(FileJobs(tmp_path / "jobs", threads), FileResults(tmp_path / "results", threads), threads)

    return create


@with_virtual_clock
async def test_short_call_never_touches_the_store():
    store = FailingJobs()
    store.problem = DISK_FULL
    async with running(store) as jobs:

        async def work(own: Caller) -> ToolResult:
            await own.on_step("a.b", False)
            await own.on_step("a.b", True)
            own.on_progress(1, 2, "x")
            return result(3)

        assert (await jobs.run(work, caller(), "demo.tool", "d", handover_s=45)).data == 3
        assert list(await jobs.list(LOCAL)) == []


@pytest.mark.spec("MCP-53")
async def test_a_question_that_was_answered_is_not_open_at_any_process(processes):
    """Not even before the process of the job has read the answer."""
    first, second = processes(), processes()
    answered = asyncio.Event()

    async def work(own: Caller) -> ToolResult:
        names = await asyncio.gather(own.ask(form("First?")), own.ask(form("Second?")))
        answered.set()
        return result([name.fields["name"] for name in names])

    job = await suspend(first, work)
    await until(lambda: len(first._active[job.id].job.questions) == 2)
    one, two = first._active[job.id].job.questions
    await second.answer(job.id, LOCAL, one.id, ANN)
    for jobs in (first, second):
        found = await jobs.find(job.id, LOCAL)
        assert (found.status, [item.id for item in found.questions]) == ("input_required", [two.id])
    await second.answer(job.id, LOCAL, two.id, ANN)
    if not answered.is_set():
        assert [(await jobs.find(job.id, LOCAL)).questions for jobs in (first, second)] == [(), ()]
    assert (await first.wait(job.id, LOCAL, HANG_S, [one.id, two.id])).data == ["Ann", "Ann"]
    await first.close()


@with_virtual_clock
async def test_response_that_no_request_expects_is_refused():
    async with running() as jobs:
        job = await suspend(jobs)
        with pytest.raises(AnswerRefused):
            await jobs.respond(job.id, LOCAL, "r1", ANN)
        jobs.expect("0" * 32, "r1").cancel()
        assert not jobs.expects("0" * 32, "r1")


async def test_another_process_cancels_a_job_once(processes):
    first, second = processes(), processes()
    cancelled = []

    async def work(own: Caller) -> ToolResult:
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            for _ in range(10):  # longer than several polls of the store
                await asyncio.sleep(0.05)
            cancelled.append(True)
            raise
        return result(None)

    job = await first.start(work, caller(), "demo.tool", "d")
    await second.cancel(job.id, LOCAL)
    await second.cancel(job.id, LOCAL)
    outcome = await second.wait(job.id, LOCAL, HANG_S)
    assert outcome.meta.reason is Reason.CANCELLED
    assert cancelled == [True]
    await first.close()


TASK = ServerTask("far", "t1", "endpoint", {"elicitation": {}})


def continuing(jobs: Jobs, gate: asyncio.Event) -> Jobs:
    """Let a process wait for the tasks of others, which end with the gate."""

    async def work(own: Caller) -> ToolResult:
        await own.on_task(TASK)
        await gate.wait()
        return result("done")

    async def continue_task(job: Job):
        return work, caller(job.principal)

    jobs.continue_task = continue_task
    return jobs


async def leave_task(processes, task: ServerTask = TASK) -> str:
    """Return the id of a job whose process has stopped while it waited for a task."""

    async def work(own: Caller) -> ToolResult:
        await own.on_task(task)
        return await hang(own)

    store = (jobs := processes())._store
    job = await jobs.run(work, caller(), "far.job", "d", with_tasks=True)
    assert job.task == task
    await jobs.close()
    await store.aclose()
    return job.id


@pytest.mark.spec("MCP-58")
async def test_job_of_a_stopped_process_that_only_waits_for_a_task_is_taken_over_once(processes):
    id, gate = await leave_task(processes), asyncio.Event()
    second, third = continuing(processes(), gate), continuing(processes(), gate)
    seen = await asyncio.gather(*(jobs.find(id, LOCAL) for jobs in (second, third) * 5))
    assert {job.status for job in seen} == {"running"}
    assert sum(len(jobs._active) for jobs in (second, third)) == 1
    with pytest.raises(JobNotFound):
        await second.find(id, Principal("another"))
    gate.set()
    for jobs in (second, third):
        assert (await jobs.wait(id, LOCAL, HANG_S)).data == "done"
        await jobs.close()


@pytest.mark.spec("MCP-58")
@pytest.mark.parametrize("endpoint", ["", "endpoint"])
async def test_job_whose_task_no_process_can_wait_for_is_lost(processes, endpoint):
    id, jobs = await leave_task(processes, TASK._replace(endpoint=endpoint)), processes()
    job = await jobs.find(id, LOCAL)
    assert job.status == ("lost" if endpoint else "cancelled")
    assert ("has ended" if endpoint else "was stopped") in job.error


@pytest.mark.spec("MCP-58")
async def test_job_that_cannot_be_taken_over_is_lost(processes, tmp_path, monkeypatch):
    id, jobs = await leave_task(processes), continuing(processes(), asyncio.Event())

    async def fail(*_):
        raise DISK_FULL

    monkeypatch.setattr(jobs._store, "take_over", fail)
    assert (await jobs.find(id, LOCAL)).status == "lost"


@pytest.mark.spec("MCP-58")
async def test_no_more_jobs_are_taken_over_than_may_be_started(processes, monkeypatch):
    monkeypatch.setattr("onetool.runtime.job_limits.MAX_STARTED_PER_PRINCIPAL", 1)
    ids, gate = [await leave_task(processes) for _ in range(2)], asyncio.Event()
    jobs = continuing(processes(), gate)
    assert [job.status for job in await jobs.list(LOCAL)] == ["running", "running"]
    assert len(jobs._active) == 1
    gate.set()
    for id in ids:
        assert (await jobs.wait(id, LOCAL, HANG_S)).data == "done"
    await jobs.close()


@pytest.mark.spec("MCP-58")
async def test_conversation_is_not_taken_over(processes):
    """More than the call happens in the block, and only its process knows what."""
    jobs = processes()
    async with jobs.track(caller(), "ask", "d", present=None) as own:
        await own.on_task(TASK)
        assert own.on_task.__self__.job.task == TASK._replace(endpoint="")


@pytest.mark.spec("MCP-52")
@with_virtual_clock
async def test_more_waiting_calls_of_a_principal_are_refused_as_busy():
    async with running() as jobs:
        waiting = [await suspend(jobs) for _ in range(MAX_WAITING_PER_PRINCIPAL)]
        refused = await jobs.run(try_to_ask, caller(), "demo.tool", "d")
        assert refused.data is Reason.BUSY
        await suspend(jobs, own=caller("other"))
        await jobs.answer(waiting[0].id, LOCAL, waiting[0].questions[0].id, ANN)
        await jobs.wait(waiting[0].id, LOCAL, 10, [waiting[0].questions[0].id])
        await suspend(jobs)


async def try_to_ask(own: Caller) -> ToolResult:
    try:
        return await ask_name(own)
    except ExecutionError as error:
        return result(error.reason, ok=False)


@pytest.mark.spec("MCP-52")
@with_virtual_clock
async def test_more_waiting_calls_of_a_process_are_refused_as_busy():
    async with running() as jobs:
        for number in range(MAX_WAITING):
            await suspend(jobs, own=caller(f"p{number % 10}"))
        refused = await jobs.run(try_to_ask, caller("new"), "demo.tool", "d")
        assert refused.data is Reason.BUSY


@pytest.mark.spec("MCP-52")
@with_virtual_clock
async def test_limit_holds_for_jobs_that_were_stored_before_they_ask():
    async with running() as jobs:
        for _ in range(MAX_WAITING_PER_PRINCIPAL):
            await suspend(jobs)
        job = await jobs.start(try_to_ask, caller(), "demo.tool", "d")
        assert (await jobs.wait(job.id, LOCAL, 10)).data is Reason.BUSY


@pytest.mark.spec("MCP-57")
@with_virtual_clock
async def test_call_that_asks_nothing_becomes_a_job_although_many_calls_wait():
    async with running() as jobs:
        for _ in range(MAX_WAITING_PER_PRINCIPAL):
            await suspend(jobs)
        job = await jobs.run(hang, caller(), "demo.tool", "d", handover_s=45)
        assert job.status == "running"


@pytest.mark.spec("MCP-52")
@with_virtual_clock
async def test_question_that_is_open_too_long_counts_as_cancelled_and_nothing_remains():
    async with running() as jobs:
        answers = []

        async def work(own: Caller) -> ToolResult:
            answers.append(await own.ask(form()))
            return result("ended")

        job = await suspend(jobs, work)
        outcome = await jobs.wait(job.id, LOCAL, ANSWER_TIMEOUT_S + 1, [job.questions[0].id])
        assert outcome.data == "ended"
        assert answers == [CANCELLED]
        with pytest.raises(AnswerRefused) as refused:
            await jobs.answer(job.id, LOCAL, job.questions[0].id, ANN)
        assert refused.value.is_expired


@pytest.mark.spec("MCP-52", "MCP-59")
@with_virtual_clock
async def test_job_is_deleted_a_day_after_its_end():
    now = [1_000.0]
    async with running(now=lambda: now[0]) as jobs:
        job = await jobs.start(hang, caller(), "demo.tool", "d")
        await jobs.cancel(job.id, LOCAL)
        await jobs.wait(job.id, LOCAL, 10)
        for later, is_stored in [(RETENTION_S - 10, True), (RETENTION_S + 1_000, False)]:
            now[0] = 1_000.0 + later
            other = await jobs.start(hang, caller(), "demo.tool", "d")
            await jobs.cancel(other.id, LOCAL)
            await jobs.wait(other.id, LOCAL, 10)
            await asyncio.sleep(1)
            assert (job.id in [item.id for item in await jobs.list(LOCAL)]) == is_stored


@pytest.mark.parametrize("action", ["find", "wait", "answer", "cancel"])
@pytest.mark.spec("MCP-59")
@with_virtual_clock
async def test_job_of_another_principal_does_not_exist(action):
    async with running() as jobs:
        job = await suspend(jobs)
        other = Principal("other")
        actions = {
            "find": lambda id: jobs.find(id, other),
            "wait": lambda id: jobs.wait(id, other, 10),
            "answer": lambda id: jobs.answer(id, other, job.questions[0].id, ANN),
            "cancel": lambda id: jobs.cancel(id, other),
        }
        texts = []
        for id in (job.id, "0" * 32):
            with pytest.raises(JobNotFound) as missing:
                await actions[action](id)
            texts.append(str(missing.value).replace(id, "ID"))
        assert texts[0] == texts[1]
        assert list(await jobs.list(other)) == []
        assert (await jobs.find(job.id, LOCAL)).status == "input_required"


@with_virtual_clock
async def test_answers_of_questions_that_are_open_together_reach_the_right_ones():
    async with running() as jobs:

        async def work(own: Caller) -> ToolResult:
            names = await asyncio.gather(*(own.ask(form(str(number))) for number in range(20)))
            return result([answer.fields["name"] for answer in names])

        job, answered = await suspend(jobs, work), []
        while isinstance(job, Job):
            opened = [item for item in job.questions if item.id not in answered]
            assert len(opened) <= 8
            for question in reversed(opened):
                name = f"name {question.message}"
                await jobs.answer(job.id, LOCAL, question.id, Answer("accept", {"name": name}))
                answered.append(question.id)
            job = await jobs.wait(job.id, LOCAL, 10, answered)
        assert job.data == [f"name {number}" for number in range(20)]


@pytest.mark.parametrize("times", [1, 3])
@with_virtual_clock
async def test_job_that_is_cancelled_before_its_first_step_ends(times):
    async with running() as jobs:
        job = await jobs.start(hang, caller(), "demo.tool", "d")
        for _ in range(times):
            await jobs.cancel(job.id, LOCAL)
        outcome = await jobs.wait(job.id, LOCAL, 10)
        assert outcome.meta.reason is Reason.CANCELLED
        assert (await jobs.find(job.id, LOCAL)).status == "cancelled"


async def test_cancellation_while_the_result_is_stored_loses_nothing():
    """The call has ended: its job ends as well."""
    storing, go_on = asyncio.Event(), asyncio.Event()

    class SlowResults(MemoryResults):
        async def put(self, text, tool, ttl_s=0.0, *, owner):
            storing.set()
            await go_on.wait()
            return await super().put(text, tool, ttl_s, owner=owner)

    async with running(results=SlowResults()) as jobs:

        async def work(own: Caller) -> ToolResult:
            return result("done")

        job = await jobs.start(work, caller(), "demo.tool", "d")
        await storing.wait()
        await jobs.cancel(job.id, LOCAL)
        go_on.set()
        assert (await jobs.wait(job.id, LOCAL, HANG_S)).data == "done"
        assert (await jobs.find(job.id, LOCAL)).status == "succeeded"


async def test_job_that_is_cancelled_while_it_is_written_is_stored_as_cancelled():
    """An earlier write that is still in progress must not replace a later one."""
    writing, go_on = asyncio.Event(), asyncio.Event()

    class SlowJobs(MemoryJobs):
        async def put(self, job: Job) -> None:
            if job.steps and not job.is_ended:
                writing.set()
                await go_on.wait()
            await super().put(job)

    async with running(SlowJobs()) as jobs:
        started = asyncio.Event()

        async def work(own: Caller) -> ToolResult:
            await started.wait()
            await own.on_step("a.b", False)
            return result(None)

        job = await jobs.start(work, caller(), "demo.tool", "d")
        started.set()
        await writing.wait()
        await jobs.cancel(job.id, LOCAL)
        waiting = asyncio.create_task(jobs.wait(job.id, LOCAL, HANG_S))
        await asyncio.sleep(0)
        go_on.set()
        await waiting
        await until(lambda: not jobs._active)
        assert (await jobs.find(job.id, LOCAL)).status == "cancelled"


@with_virtual_clock
async def test_call_ends_when_its_client_leaves():
    async with running() as jobs:
        request = asyncio.create_task(jobs.run(hang, caller(), "demo.tool", "d", handover_s=45))
        await asyncio.sleep(1)
        request.cancel()
        await asyncio.wait({request})
        await asyncio.sleep(1)
        assert asyncio.all_tasks() == {asyncio.current_task()}


@with_virtual_clock
async def test_stopped_process_cancels_calls_whose_clients_still_wait():
    jobs = Jobs(MemoryJobs(), MemoryResults(), Threads())
    request = asyncio.create_task(jobs.run(hang, caller(), "demo.tool", "d"))
    await asyncio.sleep(1)
    await jobs.close()
    outcome = await request
    assert (outcome.meta.reason, outcome.error.message) == (Reason.CANCELLED, "OneTool was stopped.")


@with_virtual_clock
async def test_call_that_ends_leaves_no_question_open():
    """A server may ask in a task of its own, which does not end with the call."""
    async with running() as jobs:
        asking = []

        async def work(own: Caller) -> ToolResult:
            asking.append(asyncio.create_task(own.ask(form())))
            await asyncio.sleep(1)
            return result("done")

        job = await suspend(jobs, work)
        assert (await jobs.wait(job.id, LOCAL, 10, [job.questions[0].id])).data == "done"
        assert await asyncio.wait_for(asking[0], 1) == CANCELLED


@with_virtual_clock
async def test_client_that_waits_for_a_job_of_another_client_changes_nothing():
    """The first client shows the questions of its call itself."""
    async with running() as jobs:
        presented = []

        async def present(job: str, question) -> Answer:
            presented.append(job)
            await asyncio.sleep(100)
            return ANN

        async def work(own: Caller) -> ToolResult:
            await own.ask(form())
            return await ask_name(own)

        first = asyncio.create_task(jobs.run(work, caller(), "demo.tool", "d", present=present))
        await asyncio.sleep(1)
        seen = await jobs.wait(presented[0], LOCAL, 5)
        assert seen.status == "input_required"
        assert isinstance(await jobs.wait(presented[0], LOCAL, 5, [seen.questions[0].id]), Job)
        assert (await first).data == "Ann"
        assert len(presented) == 2


@with_virtual_clock
async def test_calls_of_a_job_are_counted_and_named():
    async with running() as jobs:

        async def work(own: Caller) -> ToolResult:
            for number in range(2_000):
                await own.on_step("a.write", False)
                if number < 1_999:
                    await own.on_step("a.write", True)
            await own.on_step("a.send", False)
            return await hang(own)

        job = await jobs.run(work, caller(), "run", "d", handover_s=45)
        assert len(job.steps) == 3
        await jobs.cancel(job.id, LOCAL)
        message = (await jobs.wait(job.id, LOCAL, 10)).error.message
    expected = "The job was cancelled. Finished: a.write (1,999 times). May have run: a.write, a.send."
    assert message == expected


@with_virtual_clock
async def test_call_that_cannot_be_noted_is_not_made_and_not_named():
    store = FailingJobs()
    async with running(store) as jobs:

        async def work(own: Caller) -> ToolResult:
            await asyncio.sleep(1)  # the job is stored
            store.problem = DISK_FULL
            with pytest.raises(OSError, match="No space"):
                await own.on_step("a.write", False)
            store.problem = None
            return await hang(own)

        job = await jobs.start(work, caller(), "run", "d")
        await asyncio.sleep(2)
        await jobs.cancel(job.id, LOCAL)
        assert "a.write" not in (await jobs.wait(job.id, LOCAL, 10)).error.message


@pytest.mark.parametrize("done", ["x", None, 10**400, float("nan")])
async def test_progress_of_any_kind_does_not_harm_the_job(processes, done):
    jobs = processes()

    async def work(own: Caller) -> ToolResult:
        own.on_progress(done, None, "half")
        return await ask_name(own)

    job = await suspend(jobs, work)
    await jobs.answer(job.id, LOCAL, job.questions[0].id, ANN)
    assert (await jobs.wait(job.id, LOCAL, HANG_S, [job.questions[0].id])).data == "Ann"
    await jobs.close()


@with_virtual_clock
async def test_response_to_a_job_that_has_ended_says_so():
    async with running() as jobs:
        job = await suspend(jobs)
        await jobs.answer(job.id, LOCAL, job.questions[0].id, ANN)
        await jobs.wait(job.id, LOCAL, 10)
        with pytest.raises(JobEnded, match=f"Job {job.id} has ended"):
            await jobs.respond(job.id, LOCAL, "r1", ANN)


@pytest.mark.parametrize("problem", [DISK_FULL, ValueError("no text"), RecursionError()])
@with_virtual_clock
async def test_result_that_cannot_be_stored_is_returned_to_a_client_that_waits(problem):
    results = FailingResults()
    results.problem = problem
    async with running(results=results) as jobs:
        job = await suspend(jobs)
        await jobs.answer(job.id, LOCAL, job.questions[0].id, ANN)
        assert (await jobs.wait(job.id, LOCAL, 10, [job.questions[0].id])).data == "Ann"
        await asyncio.sleep(1)  # the job is stored
        later = await jobs.wait(job.id, LOCAL, 10)
        assert later.error.message == f"The result of job {job.id} could not be stored."


@pytest.mark.parametrize("problem", [DISK_FULL, RuntimeError("a defect of the store")])
@with_virtual_clock
async def test_end_that_cannot_be_stored_is_known_here_and_stored_later(problem):
    store = FailingJobs()
    async with running(store) as jobs:
        job = await suspend(jobs)
        await jobs.answer(job.id, LOCAL, job.questions[0].id, ANN)
        store.problem = problem
        assert (await jobs.wait(job.id, LOCAL, 10, [job.questions[0].id])).data == "Ann"
        assert (await jobs.wait(job.id, LOCAL, 10)).data == "Ann"
        await asyncio.sleep(10)
        assert (await store.find(job.id)).status == "input_required"
        store.problem = None
        await asyncio.sleep(10)
        assert (await store.find(job.id)).status == "succeeded"


@with_virtual_clock
async def test_result_is_stored_when_the_database_is_back():
    store, results = FailingJobs(), FailingResults()
    async with running(store, results) as jobs, running(store, results) as other:
        job = await suspend(jobs)
        results.problem = WorkspaceUnavailable("The database is away.")
        await jobs.answer(job.id, LOCAL, job.questions[0].id, ANN)
        assert (await jobs.wait(job.id, LOCAL, 10, [job.questions[0].id])).data == "Ann"
        assert (await jobs.outcome(await jobs.find(job.id, LOCAL))).data == "Ann"
        ended_at = (await jobs.find(job.id, LOCAL)).ended_at
        await asyncio.sleep(60)
        results.problem = None
        await asyncio.sleep(10)
        assert (await other.wait(job.id, LOCAL, 10)).data == "Ann"
        assert (await store.find(job.id)).ended_at == ended_at


@pytest.mark.parametrize("is_back", [True, False])
@with_virtual_clock
async def test_end_that_cannot_be_stored_is_tried_once_more_when_the_process_ends(is_back):
    store = FailingJobs()
    async with running(store) as jobs:
        job = await suspend(jobs)
        await jobs.answer(job.id, LOCAL, job.questions[0].id, ANN)
        store.problem = DISK_FULL
        await jobs.wait(job.id, LOCAL, 10, [job.questions[0].id])
        await asyncio.sleep(0)
        store.problem = None if is_back else DISK_FULL
    assert (await store.find(job.id)).status == ("succeeded" if is_back else "input_required")


@with_virtual_clock
async def test_job_that_another_process_has_taken_over_is_not_stored_again():
    store = FailingJobs()
    async with running(store) as jobs:
        job = await suspend(jobs)
        await jobs.answer(job.id, LOCAL, job.questions[0].id, ANN)
        store.problem = JobTakenOver(job.id)
        await jobs.wait(job.id, LOCAL, 10, [job.questions[0].id])
        await asyncio.sleep(0)
        store.problem = None
        await asyncio.sleep(60)
        assert (await store.find(job.id)).status == "input_required"
        assert not (await jobs.find(job.id, LOCAL)).is_ended


@with_virtual_clock
async def test_question_that_cannot_be_stored_fails_the_call():
    store = FailingJobs()
    store.problem = DISK_FULL
    async with running(store) as jobs:
        outcome = await jobs.run(try_to_ask, caller(), "demo.tool", "d")
        assert outcome.data is Reason.RAISED


@with_virtual_clock
async def test_question_that_cannot_be_stored_is_asked_by_a_client_that_waits_here():
    store = FailingJobs()
    store.problem = DISK_FULL

    async def present(job: str, question) -> Answer:
        return ANN

    async with running(store) as jobs:
        assert (await jobs.run(ask_name, caller(), "demo.tool", "d", present=present)).data == "Ann"


@with_virtual_clock
async def test_call_that_cannot_become_a_job_is_waited_for():
    store = FailingJobs()
    store.problem = DISK_FULL

    async def work(own: Caller) -> ToolResult:
        await asyncio.sleep(100)
        return result("done")

    async with running(store) as jobs:
        assert (await jobs.run(work, caller(), "demo.tool", "d", handover_s=45)).data == "done"


@with_virtual_clock
async def test_job_that_cannot_be_stored_is_not_started():
    store = FailingJobs()
    store.problem = DISK_FULL
    async with running(store) as jobs:
        with pytest.raises(ExecutionError, match="No space left"):
            await jobs.start(hang, caller(), "demo.tool", "d")


@pytest.mark.parametrize(
    ("error", "message"),
    [
        (KeyError("x"), "Internal error: KeyError."),
        (WorkspaceUnavailable("The database is away."), "The database is away."),
    ],
)
@with_virtual_clock
async def test_call_that_raises_ends_as_failed(error, message):
    async with running() as jobs:

        async def work(own: Caller) -> ToolResult:
            raise error

        job = await jobs.start(work, caller(), "demo.tool", "d")
        assert (await jobs.wait(job.id, LOCAL, 10)).error.message == message
        assert (await jobs.find(job.id, LOCAL)).status == "failed"


@pytest.mark.spec("MCP-59")
async def test_result_with_an_image_outlives_the_process_that_made_it(processes):
    first, second = processes(), processes()
    image = make_png()

    async def work(own: Caller) -> ToolResult:
        media = Media(image, "image/png")
        return result({"text": "x", "image": media})._replace(media=[media])

    job = await first.start(work, caller(), "demo.tool", "d")
    await first.wait(job.id, LOCAL, HANG_S)
    await first.close()
    outcome = await second.wait(job.id, LOCAL, HANG_S)
    assert outcome.data["text"] == "x"
    assert outcome.data["image"].to_bytes() == image
    assert [media.mime_type for media in outcome.media] == ["image/png"]


@pytest.mark.parametrize(
    ("error", "status"),
    [(None, "succeeded"), (ValueError("x"), "failed"), (asyncio.CancelledError(), "cancelled")],
)
async def test_call_whose_questions_are_shown_ends_as_it_did(error, status):
    """The user is asked while the client waits, and the job says how the call has ended."""
    jobs = Jobs(MemoryJobs(), MemoryResults(), Threads())

    async def present(job, question):
        return ANN

    try:
        async with jobs.track(caller(), "ask", "", present) as own:
            assert (await own.ask(form())).fields == ANN.content
            if error is not None:
                raise error
    except (ValueError, asyncio.CancelledError):
        assert error is not None
    [job] = await jobs.list(LOCAL)
    assert (job.tool, job.status, job.questions) == ("ask", status, ())
