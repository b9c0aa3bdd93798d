"""The PostgreSQL server of the tests, a database of each test process in it, and a workspace of each test."""

import os
import shutil
import subprocess
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, suppress
from uuid import uuid4

import psycopg
import pytest

from onetool.storage.postgres.database import Database
from onetool.storage.postgres.directory import WorkspaceAdmin
from onetool.storage.postgres.key_ring import KEY_BYTES, KeyRing
from onetool.storage.postgres.migrate import migrate
from onetool.storage.postgres.sealer import Sealer
from onetool.storage.postgres.workspace_database import WorkspaceDatabase

SERVER = "postgresql://postgres@127.0.0.1:5432/postgres"
RING = KeyRing({"test": b"k" * KEY_BYTES})
IS_REQUIRED = "ONETOOL_REQUIRE_SERVERS"
"""Variable with which a missing server fails a test instead of skipping it."""


def server_url() -> str:
    """Return the URL of the server; skip or fail the test if there is none."""
    url = os.environ.get("ONETOOL_TEST_DATABASE_URL", SERVER)
    try:
        with psycopg.connect(url, connect_timeout=2):
            return url
    except psycopg.OperationalError as error:
        message = f"no PostgreSQL server: {error}"
        if os.environ.get(IS_REQUIRED):
            pytest.fail(message)
        pytest.skip(message)


@contextmanager
def empty_database() -> Iterator[str]:
    """Create a database, and delete it at the end."""
    server, name = server_url(), f"onetool_test_{uuid4().hex}"
    with psycopg.connect(server, autocommit=True) as connection:
        connection.execute(f"create database {name}")  # type: ignore[call-overload] # letters and digits
    try:
        yield psycopg.conninfo.make_conninfo(server, dbname=name)
    finally:
        with suppress(psycopg.Error), psycopg.connect(server, autocommit=True) as connection:
            connection.execute(f"drop database {name} with (force)")  # type: ignore[call-overload]


@contextmanager
def new_database() -> Iterator[str]:
    """Create a database with all tables, and delete it at the end."""
    with empty_database() as url:
        migrate(url)
        yield url


def add_services(workspace: WorkspaceDatabase, *names: str) -> None:
    """Make services members of a workspace, as callers."""
    with workspace.writing("keys") as cursor:
        cursor.executemany(
            "insert into members (workspace_id, kind, id, role, added_by)"
            " values (%s, 'service', %s, 'caller', 'tests')",
            [(workspace.workspace, name) for name in names],
        )


def postgres_program(name: str) -> str:
    """Return the path of a program of PostgreSQL; skip the test if it is not installed."""
    config = shutil.which("pg_config")
    folder = subprocess.check_output([config, "--bindir"], text=True).strip() if config else None
    found = shutil.which(name, path=folder) or shutil.which(name)
    return found or pytest.skip(f"no {name}")


@pytest.fixture(scope="session")
def postgres_server() -> Callable[[], AbstractContextManager[str]]:
    """Return a function that creates databases."""
    return new_database


@pytest.fixture(scope="session")
def postgres_url() -> Iterator[str]:
    """Return the URL of a new database with all tables."""
    with new_database() as url:
        yield url


@pytest.fixture(scope="session")
def postgres(postgres_url: str) -> Iterator[Database]:
    """Return connections to the database."""
    database = Database(postgres_url)
    yield database
    database.close()


@pytest.fixture
def workspace(postgres: Database, postgres_url: str) -> WorkspaceDatabase:
    """Return a new workspace."""
    return new_workspace(postgres, postgres_url)


def new_workspace(database: Database, url: str) -> WorkspaceDatabase:
    """Create a workspace."""
    created = WorkspaceAdmin(url, RING).create(f"w{uuid4().hex}")
    return WorkspaceDatabase(database, created.id)


@pytest.fixture
def sealer(workspace: WorkspaceDatabase) -> Sealer:
    """Return what seals values of the workspace."""
    return Sealer(workspace, RING)
