"""Records of calls and jobs in PostgreSQL: a workspace sees nothing of another one, and one answer wins."""

import asyncio

import pytest

from onetool.domain.activity.record import ActivityFilter
from onetool.domain.activity.rollup import RollUp
from onetool.domain.calls.question import CANCELLED, Answer
from onetool.domain.jobs.job import Job
from onetool.domain.usage.summary import CallCounter, TokenSaving, UsageSummary
from onetool.ports import Messages
from onetool.storage.postgres.activity import PostgresActivity
from onetool.storage.postgres.jobs import PostgresJobs
from onetool.threads import Threads
from support.activity import add, record
from support.postgres import new_workspace

NOW = 1_794_700_000.0
ALL = ActivityFilter()
NOTHING = Messages({}, False)
JOB = Job("0" * 32, "ann", "demo.tool", "d", "", 5.0)


@pytest.fixture
def other(postgres, postgres_url):
    """Return another workspace in the same database."""
    return new_workspace(postgres, postgres_url)


@pytest.fixture
def activities(workspace, other):
    return [PostgresActivity(item, Threads()) for item in (workspace, other)]


@pytest.fixture
async def jobs(workspace, other):
    """Return stores with the same owner in two workspaces."""
    stores = [PostgresJobs(item, Threads(), owner="same") for item in (workspace, other)]
    yield stores
    for store in stores:
        await store.aclose()


async def fill(store):
    outer = record("x.y", NOW, id="outer", tool_id="t", arguments="seen")
    await add(store, record("x.y", NOW, id="inner", parent="outer"), outer)
    await store.add([], RollUp().add_savings([TokenSaving(NOW, 5), TokenSaving(NOW, 7, session="s")]))


async def read(store):
    """Return what every method that reads returns."""
    filters = (ALL, ActivityFilter(tool="x"), ActivityFilter(parent="outer"), ActivityFilter(text="seen"))
    pages = [await store.page(filter, None, 10) for filter in filters]
    return (
        [[item.id for item in page.items] for page in pages],
        await store.get("outer"),
        list(await store.tree("outer")),
        await store.summarize(None),
        await store.summarize(NOW - 1),
        await store.counters(["t"]),
    )


async def test_records_and_figures_of_another_workspace_are_not_seen(activities):
    mine, theirs = activities
    await fill(theirs)
    assert await read(mine) == ([[], [], [], []], None, [], UsageSummary(), UsageSummary(), {})
    assert (await read(theirs))[0] == [["outer", "inner"], ["outer", "inner"], ["inner"], ["outer"]]


async def test_same_records_of_two_workspaces_are_counted_on_their_own(activities):
    for store in activities:
        await fill(store)
    assert await read(activities[0]) == await read(activities[1])
    assert await activities[0].counters(["t"]) == {"t": CallCounter(1, NOW)}
    assert (await activities[0].summarize(None)).total().calls == 2


async def test_records_of_another_workspace_are_not_deleted(activities):
    mine, theirs = activities
    for store in activities:
        await fill(store)
    before = await read(theirs)
    await mine.delete_old(NOW + 1, 0)
    assert (await mine.page(ALL, None, 10)).items == []
    assert await read(theirs) == before


async def test_jobs_of_another_workspace_are_not_seen(jobs):
    mine, theirs = jobs
    job = JOB._replace(owner=theirs.owner)
    await theirs.put(job)
    assert await mine.find(job.id) is None
    assert list(await mine.list("ann")) == []
    assert not await mine.answer(job.id, "q1", CANCELLED)
    await mine.cancel(job.id)
    assert not await mine.is_alive(theirs.owner)
    assert await theirs.messages(job.id) == NOTHING
    await theirs.answer(job.id, "q1", CANCELLED)
    assert await mine.messages(job.id) == NOTHING


async def test_jobs_of_another_workspace_are_neither_taken_over_nor_deleted(jobs, workspace):
    mine, theirs = jobs
    job = JOB._replace(owner=theirs.owner)
    await theirs.put(job)
    await theirs.aclose()
    stranger = PostgresJobs(workspace, Threads())
    assert await stranger.take_over(job.id, theirs.owner) is None
    await mine.reap(1e12)
    assert await theirs.find(job.id) == job


async def test_same_job_of_two_workspaces_is_stored_twice(jobs):
    mine, theirs = jobs
    for number, store in enumerate(jobs):
        await store.put(JOB._replace(owner=store.owner, tool=f"tool{number}"))
        assert await store.answer(JOB.id, "q1", Answer("accept", {"by": number}))
    assert (await mine.find(JOB.id)).tool == "tool0"
    assert (await theirs.find(JOB.id)).tool == "tool1"
    assert (await mine.messages(JOB.id)).answers == {"q1": Answer("accept", {"by": 0})}
    await mine.cancel(JOB.id)
    assert not (await theirs.messages(JOB.id)).is_cancelled
    await mine.aclose()
    assert await theirs.is_alive(theirs.owner)


async def test_of_many_answers_at_the_same_time_one_wins(workspace):
    stores = [PostgresJobs(workspace, Threads()) for _ in range(16)]
    await stores[0].put(JOB._replace(owner=stores[0].owner))
    for round in range(5):
        question = f"q{round}"
        results = await asyncio.gather(
            *(store.answer(JOB.id, question, Answer("accept", {"by": n})) for n, store in enumerate(stores))
        )
        assert sorted(results) == [False] * 15 + [True]
        answers = (await stores[-1].messages(JOB.id)).answers
        assert answers[question] == Answer("accept", {"by": results.index(True)})
    await stores[0].aclose()
