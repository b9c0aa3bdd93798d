"""A value in every sealed column of a workspace, written by its store."""

import secrets
from collections.abc import Awaitable, Callable, Mapping

from onetool.domain.jobs.job import Job
from onetool.domain.jobs.queued_call import QueuedCall
from onetool.ports import BegunServerLogin
from onetool.storage.postgres.begun_logins import PostgresBegunLogins
from onetool.storage.postgres.job_queue import PostgresJobQueue
from onetool.storage.postgres.jobs import PostgresJobs
from onetool.storage.postgres.key_ring import KeyRing
from onetool.storage.postgres.own_secrets import PostgresOwnSecrets
from onetool.storage.postgres.sealed_columns import SEALED_COLUMNS
from onetool.storage.postgres.sealer import Sealer
from onetool.storage.postgres.secrets import PostgresSecrets
from onetool.storage.postgres.tokens import PostgresTokens
from onetool.storage.postgres.workspace_database import WorkspaceDatabase
from onetool.threads import Threads

OWNER, HOSTS = "ben", ("api.example.com",)


def value_of(name: str) -> str:
    """Return the value that is sealed. Names are not."""
    return f"value of {name}"


class SealedValues:
    """Stores of a workspace as one process has them, which share a sealer."""

    def __init__(self, workspace: WorkspaceDatabase, ring: KeyRing) -> None:
        self.workspace, self.sealer, self.threads = workspace, Sealer(workspace, ring), Threads()
        self.secrets = PostgresSecrets(workspace, self.threads, self.sealer)
        self.own_secrets = PostgresOwnSecrets(workspace, self.threads, self.sealer)
        self.tokens = PostgresTokens(workspace, self.threads, self.sealer, "http")
        self.jobs = PostgresJobs(workspace, self.threads)
        self.queue = PostgresJobQueue(workspace, self.threads, self.sealer, self.jobs)
        self.begun_logins = PostgresBegunLogins(workspace, self.threads, self.sealer)
        self.writers: Mapping[str, Callable[[str], Awaitable[object]]] = {
            "begun_logins": lambda name: self.begun_logins.put(
                name, name, BegunServerLogin("up", OWNER, value_of(name))
            ),
            "credentials": self._put_token,
            "jobs": self._put_job,
            "own_secrets": lambda name: self.own_secrets.put(
                OWNER, name, value_of(name), ["api.example.com"]
            ),
            "secrets": lambda name: self.secrets.put(name, value_of(name)),
        }
        """Store a value under a name, by table."""

    async def put_all(self, *texts: str) -> None:
        """Store values in each column, whose names are the table and a text."""
        for column in SEALED_COLUMNS:
            for text in texts:
                await self.writers[column.table](f"{column.table}-{text}")

    def read_all(self) -> dict[str, list[str]]:
        """Open everything that is sealed, by table."""
        found = {}
        with self.workspace.reading() as cursor:
            for column in SEALED_COLUMNS:
                names = ", ".join((column.column, *column.keys))
                query = f"select {names} from {column.table} where {column.column} is not null"
                rows = cursor.execute(query.encode()).fetchall()
                opened = [self.sealer.open(cursor, row[0], column.place, *row[1:]) for row in rows]
                found[column.table] = sorted(opened)
        return found

    def key_names(self) -> set[str]:
        """Return the names of the data keys that values need."""
        query = " union ".join(
            f"select convert_from(substring({item.column} from 2 for get_byte({item.column}, 0)), 'UTF8')"
            f" from {item.table} where {item.column} is not null"
            for item in SEALED_COLUMNS
        )
        with self.workspace.reading() as cursor:
            return {name for (name,) in cursor.execute(query.encode()).fetchall()}

    def data_keys(self) -> list[str]:
        """Return the names of all data keys, oldest first."""
        with self.workspace.reading() as cursor:
            rows = cursor.execute("select id from data_keys order by created_at").fetchall()
        return [name for (name,) in rows]

    async def aclose(self) -> None:
        """Release what the stores hold."""
        await self.jobs.aclose()
        self.threads.close()

    async def _put_token(self, name: str) -> None:
        async with self.tokens.exclusive(name) as tokens:
            await tokens.replace(value_of(name))

    async def _put_job(self, name: str) -> None:
        job = Job(secrets.token_hex(16), OWNER, "demo.tool", "d", "", 5.0, status="queued")
        await self.queue.put(job, QueuedCall("demo.tool", {"text": value_of(name)}))
