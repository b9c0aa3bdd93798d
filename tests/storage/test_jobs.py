"""Contract suite of the job stores, and processes and failures specific to files."""

import asyncio
import json
import os
import secrets
import subprocess
import sys
from contextlib import ExitStack
from pathlib import Path
from types import MappingProxyType

import pytest

from onetool.domain.calls.question import CANCELLED, Answer
from onetool.domain.calls.server_task import ServerTask
from onetool.domain.jobs.job import ENDED, Job, NestedStep, OpenQuestion, Progress
from onetool.files.lock import locked
from onetool.ports import Messages
from onetool.storage.files import owners
from onetool.storage.files.jobs import FileJobs
from onetool.storage.memory.jobs import MemoryJobs
from onetool.storage.postgres.jobs import PostgresJobs
from onetool.storage.postgres.workspace_database import WorkspaceDatabase
from onetool.threads import Threads
from storage.file_access import counted_access
from support.waiting import HANG_S

ACCEPTED = Answer("accept", {"name": "Zoë \ud800", "count": 2**70, "nested": [{"a": None}]})
NOTHING = Messages({}, False)
HOSTILE = ["", "../x", "a/b", "..", "\0", "a\0b", "x" * 10_000, "F" * 32, "0" * 31, "0" * 32 + "\n", "٠" * 32]
FAR_FUTURE = 1e12
PROCESSES = 4
OTHER_PROCESS = """
import asyncio, secrets, sys
from pathlib import Path
from uuid import UUID
from onetool.domain.calls.question import Answer
from onetool.domain.jobs.job import Job
from onetool.storage.files.jobs import FileJobs
from onetool.storage.postgres.database import Database
from onetool.storage.postgres.jobs import PostgresJobs
from onetool.storage.postgres.workspace_database import WorkspaceDatabase
from onetool.storage.postgres.workspace_database import WorkspaceDatabase
from onetool.threads import Threads

async def main():
    threads, (kind, place, workspace, *args) = Threads(), sys.argv[1:]
    if kind == "files":
        jobs = FileJobs(Path(place), threads)
    else:
        jobs = PostgresJobs(WorkspaceDatabase(Database(place), UUID(workspace)), threads, lease_s=3.0)

    async def go_on(*words):
        print(*words, flush=True)
        await threads.run(sys.stdin.readline)
"""
OWNER = """
    job = Job(secrets.token_hex(16), "ann", "demo.tool", "d", jobs.owner, 5.0)
    await jobs.put(job)
    await go_on(job.id, job.owner)

asyncio.run(main())
"""
ANSWER = """
    await go_on("ready")
    print(await jobs.answer(args[0], "q1", Answer("accept", {"by": args[1]})), flush=True)

asyncio.run(main())
"""
TAKE_OVER = """
    await go_on("ready")
    job = await jobs.take_over(*args)
    await go_on(job and job.owner == jobs.owner)

asyncio.run(main())
"""


@pytest.fixture
def folder(tmp_path) -> Path:
    return tmp_path / "data" / "jobs"


@pytest.fixture
async def files(folder, clock):
    store = FileJobs(folder, Threads(), clock)
    yield store
    await store.aclose()


@pytest.fixture
async def database(workspace, clock):
    store = PostgresJobs(workspace, Threads(), now=clock)
    yield store
    await store.aclose()


@pytest.fixture(params=["memory", "files", "postgres"])
def store(request):
    if request.param == "memory":
        return MemoryJobs()
    return request.getfixturevalue("files" if request.param == "files" else "database")


class Place:
    """Where several processes keep their jobs: a folder or a workspace."""

    def __init__(self, folder: Path, workspace: WorkspaceDatabase | None, url: str, clock) -> None:
        self._folder, self._workspace, self._clock = folder, workspace, clock
        self._words = ("postgres", url, workspace.workspace) if workspace else ("files", folder, "")
        self.opened: list[FileJobs | PostgresJobs] = []

    def open(self) -> FileJobs | PostgresJobs:
        """Return a store as another process has it."""
        if self._workspace is None:
            store = FileJobs(self._folder, Threads(), self._clock)
        else:
            store = PostgresJobs(self._workspace, Threads(), now=self._clock)
        self.opened.append(store)
        return store

    def owners(self) -> set[str]:
        """Return the ids of the processes that are noted."""
        if self._workspace is None:
            folder = self._folder / "owners"
            return {file.stem for file in folder.iterdir()} if folder.exists() else set()
        with self._workspace.reading() as cursor:
            return {owner for (owner,) in cursor.execute("select owner from job_owners").fetchall()}

    def start(self, code: str, *args: object) -> "subprocess.Popen[str]":
        """Start another process."""
        command = [sys.executable, "-c", OTHER_PROCESS + code, *map(str, (*self._words, *args))]
        return subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)


@pytest.fixture(params=["files", "postgres"])
async def place(request, folder, clock):
    if request.param == "files":
        found = Place(folder, None, "", clock)
    else:
        workspace, url = (request.getfixturevalue(name) for name in ("workspace", "postgres_url"))
        found = Place(folder, workspace, url, clock)
    yield found
    for store in found.opened:
        await store.aclose()


def new_job(store, **fields) -> Job:
    job = Job(secrets.token_hex(16), "ann", "demo.tool", "d1", store.owner, 5.0)
    return job._replace(**fields)


async def put(store, **fields) -> Job:
    job = new_job(store, **fields)
    await store.put(job)
    return job


def full_job(store) -> Job:
    approval = {"tool": "a.b", "digest": "d", "arguments": [{"name": '"x"', "value": "1", "hidden": 0}]}
    questions = (
        OpenQuestion("q-1_A", "form", "Name? \ud800", "gh", {"type": "object"}, "", {"x": [1.5, None]}),
        OpenQuestion("q2", "url", "Open", url="https://a.example/"),
        OpenQuestion("q3", "approval", "Run?", approval=approval),
    )
    return new_job(
        store,
        status="input_required",
        ended_at=7.25,
        questions=questions,
        steps=(NestedStep("a.b", True), NestedStep("a.c")),
        progress=Progress(0.5, 2.0, "half"),
        result="0123456789ab",
        error="Not done.",
        task=ServerTask("gh", "t1", "e1", {"elicitation": {}}),
        idempotency_key="k \ud800",
    )


async def test_every_field_is_returned_unchanged(store):
    job = full_job(store)
    assert [name for name, default in Job._field_defaults.items() if getattr(job, name) == default] == []
    await store.put(job)
    found = await store.find(job.id)
    assert found == job
    assert [type(question) for question in found.questions] == [OpenQuestion] * 3
    assert [type(step) for step in found.steps] == [NestedStep] * 2
    assert type(found.progress) is Progress
    assert list(await store.list("ann")) == [job]


async def test_every_status_is_returned_and_a_job_is_replaced(store):
    job = await put(store)
    for status in ["input_required", "running", *sorted(ENDED)]:
        await store.put(job._replace(status=status, progress=Progress(1.0)))
        assert await store.find(job.id) == job._replace(status=status, progress=Progress(1.0))
    assert len(await store.list("ann")) == 1


async def test_progress_without_total_and_read_only_mappings_are_stored(store):
    task = ServerTask("far", "t", capabilities=MappingProxyType({"roots": {}}))
    job = await put(store, progress=Progress(3.0), task=task)
    found = await store.find(job.id)
    assert (found.progress, dict(found.task.capabilities)) == (Progress(3.0), {"roots": {}})


async def test_jobs_of_a_principal_are_listed_newest_first(store):
    times = [3.0, 1.0, 2.0]
    for created_at in times:
        await put(store, created_at=created_at)
        await put(store, created_at=created_at, principal="bob")
    assert [job.created_at for job in await store.list("ann")] == [3.0, 2.0, 1.0]
    assert {job.principal for job in await store.list("bob")} == {"bob"}
    assert list(await store.list("../ann")) == []


async def test_jobs_of_a_key_and_of_a_profile_are_listed_for_the_principal_without_limits(store):
    """Not the other way round, and not for another principal whose id begins alike."""
    for number, principal in enumerate(("ann", "ann#1", "ann#2", "anna", "anna#1")):
        await put(store, principal=principal, created_at=float(number))
    listed = [[job.principal for job in await store.list(reader)] for reader in ("ann", "ann#1", "an")]
    assert listed == [["ann#2", "ann#1", "ann"], ["ann#1"], []]


async def test_an_ended_job_that_is_replaced_is_listed_as_it_is(store):
    job = await put(store, status="succeeded", ended_at=6.0)
    assert list(await store.list("ann")) == [job]
    await store.put(job._replace(result="0123456789ab"))
    assert [found.result for found in await store.list("ann")] == ["0123456789ab"]


async def test_an_answer_is_accepted_once(store):
    """Also the same answer, and for every question of every job on its own."""
    job, other = await put(store), await put(store)
    assert await store.messages(job.id) == NOTHING
    assert await store.answer(job.id, "q1", ACCEPTED)
    assert not await store.answer(job.id, "q1", ACCEPTED)
    assert not await store.answer(job.id, "q1", CANCELLED)
    assert await store.answer(job.id, "q2", CANCELLED)
    assert await store.messages(job.id) == Messages({"q1": ACCEPTED, "q2": CANCELLED}, False)
    assert await store.messages(other.id) == NOTHING
    assert await store.answer(other.id, "q1", Answer("decline"))


async def test_answers_stay_when_the_job_is_replaced(store):
    job = await put(store)
    await store.answer(job.id, "q1", ACCEPTED)
    await store.put(job._replace(status="input_required"))
    assert (await store.messages(job.id)).answers == {"q1": ACCEPTED}
    assert not await store.answer(job.id, "q1", CANCELLED)


async def test_a_job_is_cancelled_once_or_more(store):
    job, other = await put(store), await put(store)
    await store.cancel(job.id)
    await store.cancel(job.id)
    assert await store.messages(job.id) == Messages({}, True)
    assert await store.messages(other.id) == NOTHING


@pytest.mark.guards("client-jobs")
@pytest.mark.parametrize("id", ["0" * 32, *HOSTILE], ids=ascii)
async def test_unknown_and_hostile_ids_are_unknown_jobs(store, id, tmp_path):
    """No file is created for them, in any directory."""
    await put(store)
    before = sorted(tmp_path.rglob("*"))
    assert await store.find(id) is None
    assert not await store.answer(id, "q1", ACCEPTED)
    await store.cancel(id)
    assert await store.messages(id) == NOTHING
    assert not await store.is_alive(id)
    assert sorted(tmp_path.rglob("*")) == before


@pytest.mark.parametrize("id", HOSTILE, ids=ascii)
async def test_job_with_an_invalid_id_is_not_stored(store, id):
    with pytest.raises(ValueError, match="Invalid job id"):
        await put(store, id=id)
    assert list(await store.list("ann")) == []


INVALID_QUESTIONS = [
    "",
    "../x",
    "a/b",
    "..",
    "a.b",
    "\0",
    "q\n",
    "é",
    "x" * 65,
    "x" * 10_000,
    "json",
    "cancel",
]


@pytest.mark.parametrize("question", [*INVALID_QUESTIONS, "JSON", "Cancel"], ids=ascii)
async def test_invalid_question_has_no_answer(store, question):
    """The names of other files of a job are invalid too, also where upper and lower case are the same."""
    job = await put(store)
    assert not await store.answer(job.id, question, ACCEPTED)
    assert (await store.find(job.id), await store.messages(job.id)) == (job, NOTHING)
    with pytest.raises(ValueError, match="Invalid question id"):
        await store.put(job._replace(questions=(OpenQuestion(question, "form", "?"),)))
    assert await store.answer(job.id, "x" * 64, ACCEPTED)


async def test_job_of_another_owner_is_not_stored(store):
    job = new_job(store, owner="0" * 32)
    with pytest.raises(ValueError, match=f"has owner '{'0' * 32}'"):
        await store.put(job)
    assert await store.find(job.id) is None


async def test_owner_is_alive_from_its_first_job_until_it_closes(store):
    assert not await store.is_alive(store.owner)
    await put(store)
    assert await store.is_alive(store.owner)
    await put(store)
    assert await store.is_alive(store.owner)
    assert not await store.is_alive("0" * 32)
    await store.aclose()
    await store.aclose()
    assert not await store.is_alive(store.owner)
    await put(store)
    assert await store.is_alive(store.owner)


async def test_jobs_that_ended_before_a_time_are_deleted(store):
    """With their answers, so that a new job with this id has none."""
    old, recent, running = [
        await put(store, **fields)
        for fields in (
            {"status": "succeeded", "ended_at": 10.0},
            {"status": "failed", "ended_at": 20.0},
            {"created_at": 1.0},
        )
    ]
    for job in (old, recent, running):
        await store.answer(job.id, "q1", ACCEPTED)
        await store.cancel(job.id)
    await store.reap(20.0)
    assert [await store.find(job.id) for job in (old, recent, running)] == [None, recent, running]
    assert {job.id for job in await store.list("ann")} == {recent.id, running.id}
    assert await store.messages(recent.id) == Messages({"q1": ACCEPTED}, True)
    await store.put(old)
    assert await store.messages(old.id) == NOTHING
    await store.reap(FAR_FUTURE)
    assert list(await store.list("ann")) == [running], "its owner is alive"
    assert await store.messages(running.id) == Messages({"q1": ACCEPTED}, True)
    assert await store.is_alive(store.owner)


async def test_an_empty_store_can_be_read(store):
    await store.reap(FAR_FUTURE)
    assert list(await store.list("ann")) == []


def finish(process: "subprocess.Popen[str]") -> str:
    return process.communicate("\n", timeout=HANG_S)[0].strip()


async def until_ended(store, owner: str) -> None:
    """Wait until the lease of a process has ended, if it has one."""
    async with asyncio.timeout(HANG_S):
        while await store.is_alive(owner):
            await asyncio.sleep(0.02)


@pytest.mark.guards("client-jobs")
async def test_of_many_processes_one_answers(place):
    store = place.open()
    job = await put(store)
    with ExitStack() as stack:
        children = [stack.enter_context(place.start(ANSWER, job.id, number)) for number in range(PROCESSES)]
        for child in children:
            assert child.stdout.readline() == "ready\n"
        for child in children:
            child.stdin.write("\n")
            child.stdin.flush()
        results = [finish(child) for child in children]
    assert sorted(results) == ["False"] * (PROCESSES - 1) + ["True"]
    winner = str(results.index("True"))
    assert (await store.messages(job.id)).answers == {"q1": Answer("accept", {"by": winner})}


@pytest.mark.guards("client-jobs")
@pytest.mark.parametrize("ending", ["killed", "not closed"])
async def test_job_of_a_process_that_ends_is_seen_until_it_is_reaped(place, clock, ending):
    """The end of a process that did not close is the time at which the next one notices it."""
    store = place.open()
    with place.start(OWNER) as child:
        id, owner = child.stdout.readline().split()
        job = Job(id, "ann", "demo.tool", "d", owner, 5.0)
        assert (await store.find(id), list(await store.list("ann"))) == (job, [job])
        assert await store.is_alive(owner)
        assert await store.answer(id, "q1", ACCEPTED)
        await store.reap(FAR_FUTURE)
        assert await store.find(id) == job
        if ending == "killed":
            child.kill()
            child.wait(HANG_S)
        else:
            finish(child)
            assert child.returncode == 0
    await until_ended(store, owner)
    await store.reap(clock.time)
    assert await store.find(id) == job
    clock.time += 10
    await store.reap(clock.time - 10)
    assert await store.find(id) == job
    await store.reap(clock.time)
    assert await store.find(id) is None
    assert place.owners() == set()


@pytest.mark.spec("MCP-58")
async def test_of_many_processes_one_takes_over_the_job_of_a_killed_owner(place):
    store = place.open()
    with ExitStack() as stack:
        owner = stack.enter_context(place.start(OWNER))
        id, owner_id = owner.stdout.readline().split()
        children = [stack.enter_context(place.start(TAKE_OVER, id, owner_id)) for _ in range(PROCESSES)]
        for child in children:
            assert child.stdout.readline() == "ready\n"
        assert await store.take_over(id, owner_id) is None, "its owner is alive"
        assert place.owners() == {owner_id}
        owner.kill()
        owner.wait(HANG_S)
        await until_ended(store, owner_id)
        for child in children:
            child.stdin.write("\n")
            child.stdin.flush()
        results = [child.stdout.readline() for child in children]
        assert sorted(results) == ["None\n"] * (PROCESSES - 1) + ["True\n"]
        job = await store.find(id)
        assert place.owners() == {owner_id, job.owner}
        assert await store.is_alive(job.owner)
        assert await store.take_over(id, job.owner) is None
        for child in children:
            finish(child)
    assert await store.take_over(id, owner_id) is None, "it has another owner now"
    await until_ended(store, job.owner)
    taken = await store.take_over(id, job.owner)
    assert taken == job._replace(owner=store.owner) == await store.find(id)
    await store.put(taken._replace(status="succeeded"))


@pytest.mark.spec("MCP-58")
@pytest.mark.parametrize("status", sorted(ENDED))
async def test_an_ended_job_is_not_taken_over(place, status):
    first, second = place.open(), place.open()
    job = await put(first, status=status, ended_at=6.0)
    await first.aclose()
    assert await second.take_over(job.id, first.owner) is None


async def test_unknown_jobs_and_own_jobs_are_not_taken_over(store):
    job = await put(store)
    await store.aclose()
    for id in (job.id, "0" * 32, *HOSTILE):
        for owner in (store.owner, "0" * 32, *HOSTILE):
            assert await store.take_over(id, owner) is None


async def test_checks_at_the_same_time_do_not_report_a_dead_owner_as_alive(files, folder):
    fcntl = pytest.importorskip("fcntl")
    await put(files)
    await files.aclose()
    descriptor = os.open(folder / "owners" / f"{files.owner}.lock", os.O_RDONLY)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_SH)  # as a check in another process
        assert not await files.is_alive(files.owner)
    finally:
        os.close(descriptor)


def names(folder: Path) -> set[str]:
    return {file.name for file in folder.iterdir()}


async def test_jobs_of_a_closed_owner_are_deleted_after_its_end(place, clock):
    """Not after the last change of the job."""
    store, other = place.open(), place.open()
    job = await put(other, created_at=1.0)
    clock.time += 100
    await other.aclose()
    clock.time += 100
    await store.reap(1_100.0)
    assert await store.find(job.id) == job
    await store.reap(1_100.5)
    assert await store.find(job.id) is None
    assert place.owners() == set()


async def test_owners_with_jobs_or_alive_stay(place):
    store, closed, living = place.open(), place.open(), place.open()
    await put(closed, status="succeeded", ended_at=5_000.0)
    await put(living, status="succeeded", ended_at=1.0)
    await closed.aclose()
    await store.reap(2_000.0)
    assert place.owners() == {closed.owner, living.owner}
    assert await store.is_alive(living.owner)
    await living.aclose()
    await store.reap(6_000.0)
    assert place.owners() == set()


async def test_owners_have_different_ids(place):
    ids = {place.open().owner for _ in range(3)}
    assert len(ids) == 3
    assert all(len(bytes.fromhex(id)) == 16 for id in ids)
    assert place.owners() == set()


async def test_lock_file_that_is_deleted_before_it_is_locked_is_created_again(folder, files, monkeypatch):
    """Another process may take it for the file of a process that ended."""
    deleted = []

    def delete_first(descriptor):
        file = folder / "owners" / f"{files.owner}.lock"
        if not deleted:
            deleted.append(file)
            file.unlink()
        return locked(descriptor)

    monkeypatch.setattr(owners, "locked", delete_first)
    await put(files)
    assert len(deleted) == 1
    assert await files.is_alive(files.owner)


@pytest.mark.parametrize("content", ["x", "nan", "inf", "-1", "1" * 5_000, None])
async def test_owner_whose_lock_file_is_corrupt_or_deleted_ended_now(folder, clock, files, content):
    other = FileJobs(folder, Threads(), clock)
    job = await put(other)
    await other.aclose()
    file = folder / "owners" / f"{other.owner}.lock"
    file.unlink() if content is None else file.write_text(content)
    assert not await files.is_alive(other.owner)
    await files.reap(clock.time)
    assert await files.find(job.id) == job
    await files.reap(clock.time + 1)
    assert await files.find(job.id) is None


async def test_foreign_files_stay(folder, files):
    job = await put(files)
    foreign = [folder / "notes.json", folder / "owners" / "notes.lock", folder / "owners" / "x"]
    for file in foreign:
        file.write_text("x")
        os.utime(file, (1.0, 1.0))
    await files.reap(FAR_FUTURE)
    assert list(await files.list("ann")) == [job]
    assert [file.exists() for file in foreign] == [True] * 3


CORRUPT = [b"", b"{", b"[]", b"null", b"5", b'"x"', b"\xff", b"[" * 100_000, b"{}", b'{"id": 1}']
FIELDS = [
    {"id": "0" * 32},
    {"owner": "../x"},
    {"owner": None},
    {"status": "waiting"},
    {"status": []},
    {"created_at": "now"},
    {"ended_at": "now"},
    {"questions": 5},
    {"questions": [5]},
    {"questions": [{"id": "q"}]},
    {"steps": [[]]},
    {"progress": []},
    {"principal": 5},
    {"unknown": 1},
]


def corrupted(job: Job, change: object) -> bytes:
    if isinstance(change, dict):
        return json.dumps(job.to_json() | change).encode()
    return change


@pytest.mark.parametrize("change", [*CORRUPT, *FIELDS], ids=lambda change: ascii(change)[:40])
async def test_corrupt_job_is_unknown_and_deleted_when_it_is_old(folder, files, change):
    good, bad = await put(files), await put(files)
    file = folder / f"{bad.id}.json"
    file.write_bytes(corrupted(bad, change))
    assert await files.find(bad.id) is None
    assert list(await files.list("ann")) == [good]
    assert not await files.answer(bad.id, "q1", ACCEPTED)
    await files.cancel(bad.id)
    assert await files.messages(bad.id) == NOTHING
    await files.reap(file.stat().st_mtime - 1)
    assert file.exists()
    await files.reap(file.stat().st_mtime + 1)
    assert not file.exists()
    assert await files.find(good.id) == good


async def test_truncated_job_is_unknown_at_every_length(folder, files):
    job = full_job(files)
    await files.put(job)
    file = folder / f"{job.id}.json"
    content = file.read_bytes()
    for length in range(len(content)):
        file.write_bytes(content[:length])
        assert await files.find(job.id) is None
    await files.put(job)
    assert await files.find(job.id) == job


WRONG_ANSWERS = [b'{"action": "run"}', b'{"action": []}', b'{"action": "accept", "content": 5}']


@pytest.mark.parametrize("content", [*CORRUPT, *WRONG_ANSWERS], ids=lambda content: ascii(content)[:40])
async def test_corrupt_answer_is_missing(folder, files, content):
    """The question stays answered: it cannot be known that no one has used the answer."""
    job = await put(files)
    (folder / f"{job.id}.q1").write_bytes(content)
    assert await files.messages(job.id) == NOTHING
    assert not await files.answer(job.id, "q1", ACCEPTED)


async def test_directories_with_names_of_files_are_unknown(folder, files):
    job, broken = await put(files), secrets.token_hex(16)
    for name in (f"{broken}.json", f"{job.id}.q1"):
        (folder / name).mkdir()
    assert await files.find(broken) is None
    assert list(await files.list("ann")) == [job]
    assert await files.messages(job.id) == NOTHING
    await files.reap(FAR_FUTURE)


async def test_files_that_a_killed_process_left_are_deleted_when_they_are_old(folder, files):
    """A temporary file, and an answer without its job. New ones may belong to a job that is being written."""
    job, gone = await put(files), secrets.token_hex(16)
    left = [
        folder / name for name in (f".{gone}.json.012345", f"{gone}.q1", f".{gone}.q1.0123", f"{gone}.cancel")
    ]
    for file in left:
        file.write_bytes(b"{")
    assert list(await files.list("ann")) == [job]
    assert await files.find(gone) is None
    assert await files.messages(gone) == NOTHING
    changed_at = left[0].stat().st_mtime
    await files.reap(changed_at - 10)
    assert [file.exists() for file in left] == [True] * 4
    await files.reap(changed_at + 10)
    assert [file.exists() for file in left] == [False] * 4
    assert await files.find(job.id) == job


async def test_temporary_files_are_deleted_with_their_job(folder, files):
    job = await put(files, status="succeeded", ended_at=1.0)
    (folder / f".{job.id}.json.0123").write_bytes(b"{")
    await files.reap(2.0)
    assert names(folder) == {"owners"}


@pytest.mark.parametrize("number", range(4))
async def test_reap_that_is_interrupted_leaves_no_job_without_its_answers(folder, files, monkeypatch, number):
    """Otherwise a question could be answered again."""
    job = await put(files, status="succeeded", ended_at=1.0)
    await files.answer(job.id, "q1", ACCEPTED)
    await files.answer(job.id, "a", ACCEPTED)
    await files.cancel(job.id)
    complete = await files.messages(job.id)
    remaining, unlink = [number], Path.unlink

    def counted(path, *args, **kwargs):
        if remaining[0] == 0:
            raise KeyboardInterrupt
        remaining[0] -= 1
        unlink(path, *args, **kwargs)

    with monkeypatch.context() as patch:
        patch.setattr(Path, "unlink", counted)
        with pytest.raises(KeyboardInterrupt):
            await files.reap(2.0)
    if await files.find(job.id) is None:
        assert await files.messages(job.id) == NOTHING
    else:
        assert await files.messages(job.id) == complete
    await files.reap(FAR_FUTURE)
    assert names(folder) == {"owners"}


async def test_list_reads_ended_jobs_once(folder, files):
    for _ in range(50):
        await put(files, status="succeeded", ended_at=6.0)
    running = await put(files)
    assert len(await files.list("ann")) == 51
    with counted_access(folder) as access:
        jobs = await files.list("ann")
    assert (len(jobs), access["open"], running in jobs) == (51, 1, True)
    await files.reap(7.0)
    assert list(await files.list("ann")) == [running]


async def test_of_many_simultaneous_answers_one_is_accepted(store):
    job = await put(store)
    answers = [Answer("accept", {"by": number}) for number in range(50)]
    accepted = await asyncio.gather(*(store.answer(job.id, "q1", answer) for answer in answers))
    assert accepted.count(True) == 1
    assert (await store.messages(job.id)).answers == {"q1": answers[accepted.index(True)]}


async def test_waiting_for_a_change_ends(store):
    """After the given time at the latest, and at once if there was a change before."""
    job = await put(store)
    seen = store.generation(job.id)
    await store.wait_for_change(job.id, seen, 0.01)
    await store.answer(job.id, "q1", CANCELLED)
    await store.wait_for_change(job.id, seen, 0.01)
