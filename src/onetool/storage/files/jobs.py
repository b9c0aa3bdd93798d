"""Jobs in files: the job, written by its owner, and one file for each answer and for the cancellation.

jobs/ID.json                the job
jobs/ID.QUESTION            the answer to a question, created once
jobs/ID.cancel              the job should be cancelled
jobs/owners/OWNER.lock      locked while the owner is running
"""

import asyncio
import json
import re
import time
from collections import defaultdict
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, get_args

from onetool.domain.calls.question import Action, Answer
from onetool.domain.identity.principal import may_read
from onetool.domain.jobs.job import Job, is_job_id, is_question_id
from onetool.files.atomic import PRIVATE_DIR, write_atomic, write_new
from onetool.ports import Messages
from onetool.ports.jobs import POLL_INTERVAL_S
from onetool.threads import Threads

from .on_thread import on_thread
from .owners import OwnerLocks, is_owner_id

OWNERS = "owners"
JOB, CANCEL = "json", "cancel"
FILE_OF_JOB = re.compile(r"\.?([0-9a-f]{32})\..+", re.DOTALL)
"""A file of a job, or a temporary file that a killed process has left."""
CORRUPT = (ValueError, TypeError, RecursionError)
MISSING = (FileNotFoundError, NotADirectoryError, IsADirectoryError, PermissionError)


class FileJobs:
    """Stores each job as a JSON file. Any process of the user can read, answer and cancel it."""

    def __init__(self, folder: Path, threads: Threads, now: Callable[[], float] = time.time) -> None:
        self._folder, self._threads = folder, threads
        self._owners = OwnerLocks(folder / OWNERS, now)
        self._ended: dict[str, Job] = {}
        """Jobs that will not change any more, so that `list` reads them once."""

    @property
    def owner(self) -> str:
        """The id of this process."""
        return self._owners.id

    @on_thread
    def put(self, job: Job) -> None:
        """Create or replace a job of this process. Durable on return."""
        job.check_ids()
        if job.owner != self.owner:
            raise ValueError(f"Job {job.id!r} has owner {job.owner!r}. This process is {self.owner!r}.")
        self._put(job)

    def _put(self, job: Job) -> None:
        self._owners.hold()
        self._folder.chmod(PRIVATE_DIR)  # an existing directory may have other permissions
        write_atomic(self._file(job.id, JOB), _to_bytes(job.to_json()))
        self._ended.pop(job.id, None)

    @on_thread
    def find(self, id: str) -> Job | None:
        """Return a job. A corrupt file counts as an unknown job."""
        return self._find(id)

    @on_thread
    def list(self, principal: str) -> Sequence[Job]:
        """Return the jobs that a principal may read, newest first."""
        ids = [id for id, names in self._names().items() if f"{id}.{JOB}" in names]
        ended = self._ended
        jobs = [job for id in ids if (job := ended.get(id) or self._find(id))]
        self._ended = {job.id: job for job in jobs if job.is_ended}
        found = [job for job in jobs if may_read(principal, job.principal)]
        return sorted(found, key=lambda job: (job.created_at, job.id), reverse=True)

    @on_thread
    def answer(self, id: str, question: str, answer: Answer) -> bool:
        """Store the answer to a question, unless its file exists. Durable on return."""
        if self._find(id) is None or not is_question_id(question):
            return False
        return write_new(self._file(id, question), _to_bytes(answer._asdict()))

    @on_thread
    def cancel(self, id: str) -> None:
        """Ask the owner of a job to cancel it. Durable on return."""
        if self._find(id) is not None:
            write_new(self._file(id, CANCEL), b"")

    @on_thread
    def messages(self, id: str) -> Messages:
        """Return what was written for the owner of a job. A corrupt answer counts as missing."""
        if self._find(id) is None:
            return Messages({}, False)
        names = self._names().get(id, ())
        questions = [name.partition(".")[2] for name in names if not name.startswith(".")]
        answers = {
            question: answer
            for question in questions
            if is_question_id(question) and (answer := _read_answer(self._file(id, question)))
        }
        return Messages(answers, CANCEL in questions)

    def generation(self, id: str) -> Hashable:
        """Return None: changes are not counted."""
        return None

    async def wait_for_change(self, id: str, seen: Hashable, seconds: float) -> None:
        """Wait until it is time to look again."""
        await asyncio.sleep(min(seconds, POLL_INTERVAL_S))

    @on_thread
    def take_over(self, id: str, owner: str) -> Job | None:
        """Replace the owner of a job under the lock that the ended owner held. Durable on return."""
        if not is_owner_id(owner) or owner == self.owner:
            return None
        with self._owners.hold_ended(owner) as is_ended:
            job = self._find(id)
            if not is_ended or job is None or job.is_ended or job.owner != owner:
                return None
            self._put(job := job._replace(owner=self.owner))
            return job

    @on_thread
    def is_alive(self, owner: str) -> bool:
        """Return whether a process holds its lock."""
        return is_owner_id(owner) and self._owners.is_alive(owner)

    @on_thread
    def reap(self, before: float) -> None:
        """Delete old jobs with all their files, and the lock files of owners that ended."""
        owners = set[str]()
        for id, names in self._names().items():
            job = self._find(id)
            if job is None:
                self._delete(name for name in names if self._is_older(name, before))
            elif self._is_over(job, before):
                # The job first: a process that is killed now must not leave it without its answers.
                self._delete(sorted(names, key=lambda name: name != f"{job.id}.{JOB}"))
            else:
                owners.add(job.owner)
        self._owners.delete_ended(before, keep=owners)

    @on_thread
    def aclose(self) -> None:
        """Give up the sign of life."""
        self._owners.release()

    def _find(self, id: str) -> Job | None:
        if not is_job_id(id):
            return None
        try:
            job = Job.from_json(json.loads(self._file(id, JOB).read_bytes()))
        except (*MISSING, *CORRUPT):
            return None
        return job if job.id == id and is_owner_id(job.owner) else None

    def _names(self) -> Mapping[str, Sequence[str]]:
        """Return the names of all files by the id of their job."""
        names = defaultdict[str, list[str]](list)
        with suppress(FileNotFoundError):
            for file in self._folder.iterdir():
                if found := FILE_OF_JOB.fullmatch(file.name):
                    names[found[1]].append(file.name)
        return names

    def _is_over(self, job: Job, before: float) -> bool:
        if job.is_ended:
            return (job.ended_at or job.created_at) < before
        ended_at = self._owners.ended_at(job.owner)
        return ended_at is not None and ended_at < before

    def _is_older(self, name: str, before: float) -> bool:
        try:
            return (self._folder / name).stat().st_mtime < before
        except FileNotFoundError:
            return False

    def _delete(self, names: Iterable[str]) -> None:
        for name in names:
            with suppress(*MISSING):
                (self._folder / name).unlink()

    def _file(self, id: str, name: str) -> Path:
        return self._folder / f"{id}.{name}"


def _to_bytes(fields: Mapping[str, Any]) -> bytes:
    """Return JSON in ASCII, because texts of servers may contain characters that UTF-8 does not have."""
    return json.dumps(fields, default=dict).encode()


def _read_answer(file: Path) -> Answer | None:
    try:
        answer = Answer(**json.loads(file.read_bytes()))
    except (*MISSING, *CORRUPT):
        return None
    is_valid = answer.action in get_args(Action) and isinstance(answer.content, dict | None)
    return answer if is_valid else None
