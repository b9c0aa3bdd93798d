"""The PostgreSQL server of the tests, a database of each test process in it, and a workspace of each test."""

import os
import shutil
import subprocess
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, ExitStack, contextmanager, suppress
from functools import cache
from types import MappingProxyType
from typing import Any, NamedTuple
from uuid import UUID, uuid4

import psycopg
import pytest

from onetool.storage.postgres.cluster_admin import ClusterAdmin
from onetool.storage.postgres.clusters import HOME, url_variable
from onetool.storage.postgres.database import Database
from onetool.storage.postgres.directory import WorkspaceAdmin
from onetool.storage.postgres.key_ring import KEY_BYTES, KeyRing
from onetool.storage.postgres.migrate import migrate
from onetool.storage.postgres.sealer import Sealer
from onetool.storage.postgres.workspace_database import WorkspaceDatabase

SERVER = "postgresql://postgres@127.0.0.1:5432/postgres"
RING = KeyRing({"test": b"k" * KEY_BYTES})
WEST = "west"
"""The name of the second cluster."""
DELETE_WORKSPACES = """
set local session_replication_role = replica;
do $$ declare name text; begin
    for name in select oid::regclass from pg_class
        where relnamespace = 'onetool'::regnamespace and relkind = 'r'
    loop
        execute 'delete from ' || name;
    end loop;
end $$;
delete from home.workspaces;
delete from home.installation
"""
"""In any order of the tables."""
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
def empty_database(template: str = "template1") -> Iterator[str]:
    """Create a database, and delete it at the end. Its commits do not wait for the disk."""
    server, name = server_url(), f"onetool_test_{uuid4().hex}"
    with psycopg.connect(server, autocommit=True) as connection:
        connection.execute(f"create database {name} template {template}".encode())
        connection.execute(f"alter database {name} set synchronous_commit = off".encode())
    try:
        yield psycopg.conninfo.make_conninfo(server, dbname=name)
    finally:
        with suppress(psycopg.Error), psycopg.connect(server, autocommit=True) as connection:
            connection.execute(f"drop database {name} with (force)".encode())


TEMPLATES = ExitStack()
"""Deletes the template when the tests end."""


@cache
def template() -> str:
    """Return the name of a database with all tables, of which others are copies: migrations take longer."""
    url = TEMPLATES.enter_context(empty_database())
    migrate(url)
    return str(psycopg.conninfo.conninfo_to_dict(url)["dbname"])


def pytest_sessionfinish() -> None:
    """Delete the template."""
    TEMPLATES.close()


@contextmanager
def new_database() -> Iterator[str]:
    """Create a database with all tables, and delete it at the end."""
    with empty_database(template()) as url:
        with psycopg.connect(url) as connection:
            database = connection.info.dbname
            connection.execute(f"grant create on database {database} to onetool_owner".encode())
        yield url


def delete_workspaces(url: str) -> None:
    """Delete all workspaces and their rows, as in a new database."""
    execute(url, DELETE_WORKSPACES)


class ClusterUrls(NamedTuple):
    """The URLs of an installation, and in which of its clusters tests create workspaces."""

    home: str
    others: Mapping[str, str] = MappingProxyType({})
    """That of the second cluster, by its name, if workspaces are created there."""

    @property
    def cluster(self) -> str:
        """The name of the cluster with the workspaces."""
        return WEST if self.others else HOME

    @property
    def rows(self) -> str:
        """The URL of the database with the workspaces."""
        return self.others.get(WEST, self.home)

    @property
    def variables(self) -> Mapping[str, str]:
        """The environment variables with which a process knows the clusters."""
        return {url_variable(name): url for name, url in {HOME: self.home, **self.others}.items()}


@contextmanager
def new_clusters(config: pytest.Config) -> Iterator[ClusterUrls]:
    """Create the database of an installation, and with --second-cluster another one for its workspaces."""
    with new_database() as home:
        if not config.getoption("--second-cluster"):
            yield ClusterUrls(home)
            return
        with new_database() as west:
            ClusterAdmin({HOME: home, WEST: west}).add(WEST)
            yield ClusterUrls(home, {WEST: west})


def waits_for_lock(url: str) -> bool:
    """Return whether a transaction of a database waits for a lock."""
    with psycopg.connect(url) as connection:
        query = (
            "select from pg_stat_activity"
            " where datname = current_database() and wait_event_type = 'Lock' and state = 'active'"
        )
        return connection.execute(query).rowcount > 0


def execute(url: str, statement: str, *values: object) -> list[tuple[Any, ...]]:
    """Execute a statement in a transaction of its own. Return its rows."""
    with psycopg.connect(url) as connection:
        cursor = connection.execute(statement.encode(), values or None)
        return [] if cursor.description is None else cursor.fetchall()


def set_fenced(url: str, workspace: UUID, is_fenced: bool = True) -> None:
    """Make a workspace read-only, as a move does, or writable again."""
    change = "update onetool.workspace_state set fenced = %s where workspace_id = %s"
    execute(url, change, is_fenced, workspace)


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
def clusters(request: pytest.FixtureRequest) -> Iterator[ClusterUrls]:
    """Return the URLs of a new installation."""
    with new_clusters(request.config) as clusters:
        yield clusters


@pytest.fixture(scope="session")
def postgres_url(clusters: ClusterUrls) -> str:
    """Return the URL of a new database with all tables, and the rows of workspaces."""
    return clusters.rows


@pytest.fixture(scope="session")
def home_url(clusters: ClusterUrls) -> str:
    """Return the URL of the database with the directory, people and groups."""
    return clusters.home


@pytest.fixture(scope="session")
def postgres(postgres_url: str) -> Iterator[Database]:
    """Return connections to the database with the rows of workspaces."""
    database = Database(postgres_url)
    yield database
    database.close()


@pytest.fixture(scope="session")
def home_database(home_url: str, postgres_url: str, postgres: Database) -> Iterator[Database]:
    """Return connections to the database with the directory, people and groups."""
    database = postgres if home_url == postgres_url else Database(home_url)
    yield database
    database.close()


@pytest.fixture
def workspace(postgres: Database, home_database: Database, clusters: ClusterUrls) -> WorkspaceDatabase:
    """Return a new workspace."""
    admin = WorkspaceAdmin(clusters.home, RING, clusters.others)
    created = admin.create(f"w{uuid4().hex}", cluster=clusters.cluster)
    return WorkspaceDatabase(postgres, created.id, home=home_database)


def new_workspace(database: Database, url: str) -> WorkspaceDatabase:
    """Create a workspace."""
    created = WorkspaceAdmin(url, RING).create(f"w{uuid4().hex}")
    return WorkspaceDatabase(database, created.id)


@pytest.fixture
def sealer(workspace: WorkspaceDatabase) -> Sealer:
    """Return what seals values of the workspace."""
    return Sealer(workspace, RING)
