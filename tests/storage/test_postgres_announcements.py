"""Changes of jobs and of sessions of clients are announced to other processes, which do not look for them."""

import asyncio
from functools import wraps

import pytest

from onetool.domain.calls.call import CallMeta, ToolResult
from onetool.domain.calls.caller import Caller, ask_user
from onetool.domain.calls.question import Answer, Asker, Question
from onetool.domain.identity.principal import LOCAL
from onetool.domain.jobs.job import Job
from onetool.runtime.jobs import Jobs
from onetool.storage.postgres import jobs as jobs_module
from onetool.storage.postgres.client_sessions import PostgresClientSessions
from onetool.storage.postgres.directory import Workspace
from onetool.storage.postgres.jobs import PostgresJobs
from onetool.storage.postgres.notices import ChangeNotices
from onetool.storage.postgres.results import PostgresResults
from onetool.threads import Threads
from support.postgres import execute
from support.waiting import HANG_S, until

NEVER_S = 3600.0
FORM = {"type": "object", "properties": {"name": {"type": "string"}}, "required": ["name"]}
SESSION = "1" * 32


class Process:
    """The stores and jobs of a process, which is told of changes by a connection of its own."""

    def __init__(self, url, database, workspace):
        self._notices, threads = ChangeNotices(url, database), Threads()
        self.rows = self._notices.workspace(Workspace(workspace.workspace, "slug", "name"))
        self.store = PostgresJobs(self.rows, threads)
        self.jobs = Jobs(self.store, PostgresResults(self.rows, threads), threads)
        self.sessions = PostgresClientSessions(self.rows, threads)

    async def __aenter__(self):
        self._notices.start()
        await until(self._notices.is_listening.is_set)
        return self

    async def __aexit__(self, *_):
        await self.jobs.close()
        await self.store.aclose()
        self._notices.stop()

    async def ask(self):
        """Start a call that asks, and return its job."""

        async def work(own):
            question = Question(kind="form", message="Name?", schema=FORM)
            return ToolResult(True, CallMeta("demo.tool", "1", 1.0), (await own.ask(question)).fields)

        caller = Caller(interface="mcp", asker=Asker(capabilities={"elicitation": {}}), approve=ask_user)
        return await self.jobs.run(work, caller, "demo.tool", "d")


@pytest.fixture
async def processes(postgres_url, postgres, workspace, monkeypatch):
    """Two processes that never look for changes themselves."""
    monkeypatch.setattr(jobs_module, "POLL_INTERVAL_S", NEVER_S)
    new = [Process(postgres_url, postgres, workspace) for _ in range(2)]
    async with new[0] as here, new[1] as there:
        yield here, there


def limited(test):
    """Fail a test that waits for what is never announced."""

    @wraps(test)
    async def run(*args, **kwargs):
        async with asyncio.timeout(HANG_S):
            await test(*args, **kwargs)

    return run


@limited
async def test_answer_at_another_process_wakes_the_owner(processes):
    here, there = processes
    job = await here.ask()
    (question,) = job.questions
    waiting = asyncio.ensure_future(there.jobs.wait(job.id, LOCAL, NEVER_S, [question.id]))
    await there.jobs.answer(job.id, LOCAL, question.id, Answer("accept", {"name": "Ann"}))
    outcome = await here.jobs.wait(job.id, LOCAL, NEVER_S, [question.id])
    assert outcome.data == {"name": "Ann"}
    assert (await waiting).data == {"name": "Ann"}


@limited
async def test_cancellation_at_another_process_wakes_the_owner(processes):
    here, there = processes
    job = await here.ask()
    waiting = asyncio.ensure_future(
        there.jobs.wait_for_job(job.id, LOCAL, NEVER_S, [item.id for item in job.questions])
    )
    await there.jobs.cancel(job.id, LOCAL)
    assert (await waiting).status == "cancelled"


@limited
async def test_question_wakes_those_who_wait_at_another_process(processes):
    here, there = processes
    begin = asyncio.Event()

    async def work(own):
        await begin.wait()
        await own.ask(Question(kind="form", message="Name?", schema=FORM))

    caller = Caller(interface="mcp", asker=Asker(capabilities={"elicitation": {}}), approve=ask_user)
    job = await here.jobs.start(work, caller, "demo.tool", "d")
    waiting = asyncio.ensure_future(there.jobs.wait(job.id, LOCAL, NEVER_S))
    begin.set()
    asked = await waiting
    assert isinstance(asked, Job)
    assert [question.message for question in asked.questions] == ["Name?"]


@limited
async def test_of_fifty_answers_at_two_processes_one_is_accepted(processes):
    here, there = processes
    job = await here.ask()
    (question,) = job.questions
    stores = [here.store, there.store] * 25
    names = [Answer("accept", {"name": str(number)}) for number in range(50)]
    pairs = zip(stores, names, strict=True)
    accepted = await asyncio.gather(*(store.answer(job.id, question.id, name) for store, name in pairs))
    assert accepted.count(True) == 1
    outcome = await there.jobs.wait(job.id, LOCAL, NEVER_S, [question.id])
    assert outcome.data == names[accepted.index(True)].content


@limited
async def test_write_to_the_session_of_a_client_is_noted_at_another_process(processes):
    here, there = processes
    before = there.sessions.generation(SESSION)
    await here.sessions.put(SESSION, "level", "error")
    await until(lambda: there.sessions.generation(SESSION) != before)
    before = there.sessions.generation(SESSION)
    await here.sessions.remove(SESSION, "level")
    await until(lambda: there.sessions.generation(SESSION) != before)


@limited
async def test_after_a_lost_connection_everything_counts_as_announced(processes, postgres_url):
    here, _ = processes
    before = here.sessions.generation(SESSION)
    waiting = asyncio.ensure_future(
        here.store.wait_for_change("0" * 32, here.store.generation("0" * 32), NEVER_S)
    )
    execute(
        postgres_url,
        "select pg_terminate_backend(pid) from pg_stat_activity"
        " where application_name = 'onetool-replica' and datname = current_database()",
    )
    await waiting
    await until(lambda: here.sessions.generation(SESSION) != before)
