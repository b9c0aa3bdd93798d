"""Replacing the key that seals the data keys of workspaces."""

import asyncio

import psycopg
import pytest

from onetool.domain.errors import StoreUnavailable
from onetool.storage.postgres import rewrap
from onetool.storage.postgres.database import Database
from onetool.storage.postgres.directory import Directory, WorkspaceAdmin
from onetool.storage.postgres.key_ring import KEY_BYTES, KeyRing, key_name
from onetool.storage.postgres.rewrap import rewrap_keys
from onetool.storage.postgres.sealer import Sealer
from onetool.storage.postgres.secrets import PostgresSecrets
from onetool.storage.postgres.workspace_database import WorkspaceDatabase
from onetool.threads import Threads
from support.postgres import delete_workspaces, new_database

OLD_KEYS, NEW_KEYS = {"old": b"o" * KEY_BYTES}, {"new": b"n" * KEY_BYTES}
OLD, NEW, BOTH = KeyRing(OLD_KEYS), KeyRing(NEW_KEYS), KeyRing(NEW_KEYS | OLD_KEYS)
WORKSPACES = 5


@pytest.fixture(scope="module")
def empty():
    with new_database() as url:
        yield url


@pytest.fixture
def url(empty):
    """Return a database whose workspaces have a secret each, sealed with the old key."""
    database = Database(empty)
    for number in range(WORKSPACES):
        id = WorkspaceAdmin(empty, OLD).create(f"w{number}").id
        asyncio.run(secrets(database, id, OLD).put("TOKEN", f"value {number}", None))
    database.close()
    yield empty
    delete_workspaces(empty)


def secrets(database, id, ring):
    workspace = WorkspaceDatabase(database, id)
    return PostgresSecrets(workspace, Threads(), Sealer(workspace, ring))


def sealed(url):
    """Return everything that is sealed with the ring."""
    with psycopg.connect(url) as connection:
        keys = connection.execute("select ring_key, sealed from onetool.data_keys").fetchall()
        return keys, connection.execute("select key_check from home.installation").fetchone()[0]


def test_after_that_nothing_needs_the_old_key(url, monkeypatch):
    monkeypatch.setattr(rewrap, "BATCH", 2)
    database = Database(url)
    ids = [workspace.id for workspace in WorkspaceAdmin(url, BOTH).list()]
    running = secrets(database, ids[0], BOTH)  # a server that has opened its keys before
    assert running.read()["TOKEN"].value == "value 0"
    assert rewrap_keys(url, BOTH) == WORKSPACES
    keys, check = sealed(url)
    assert {name for name, _ in keys} == {key_name(key) for _, key in keys} == {key_name(check)} == {"new"}
    Directory(database).check_keys(NEW)
    for number, id in enumerate(ids):
        assert secrets(database, id, NEW).read()["TOKEN"].value == f"value {number}"
    asyncio.run(running.put("LATER", "x", None))
    assert secrets(database, ids[0], NEW).read()["LATER"].value == "x"
    with pytest.raises(StoreUnavailable, match="'new', which this process does not have"):
        Directory(database).check_keys(OLD)
    assert rewrap_keys(url, BOTH) == rewrap_keys(url, NEW) == 0
    database.close()


def test_without_the_old_key_nothing_changes(url):
    before = sealed(url)
    with pytest.raises(StoreUnavailable, match="'old', which this process does not have"):
        rewrap_keys(url, NEW)
    assert sealed(url) == before


def test_database_without_a_workspace_has_nothing_to_seal(empty):
    assert rewrap_keys(empty, NEW) == 0
