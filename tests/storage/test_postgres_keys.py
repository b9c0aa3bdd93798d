"""Keys, sealed values, API keys, secrets and settings of workspaces in PostgreSQL."""

import asyncio
import json
from datetime import UTC, datetime, timedelta

import psycopg
import pytest

from onetool.domain.errors import MemberError, SettingsError, StoreUnavailable
from onetool.storage.postgres.api_keys import MAX_KEYS, PostgresApiKeys
from onetool.storage.postgres.directory import Directory, WorkspaceAdmin
from onetool.storage.postgres.key_ring import KEY_BYTES, KeyRing, new_key
from onetool.storage.postgres.sealer import Sealer, add_data_key
from onetool.storage.postgres.secrets import PostgresSecrets
from onetool.storage.postgres.settings import PostgresSettings, SettingsVersion
from onetool.storage.postgres.tokens import PostgresTokens
from onetool.threads import Threads
from support.postgres import RING, add_services, new_workspace

CANARY = "canary-7f3a"
YEAR = timedelta(days=365)


def test_first_key_seals_and_all_keys_open():
    old, new = KeyRing.parse(new_key("old")), new_key("new")
    both = KeyRing({"new": b"n" * KEY_BYTES, "old": b"o" * KEY_BYTES})
    assert both.current == "new"
    sealed = KeyRing({"old": b"o" * KEY_BYTES}).seal(b"text", "a")
    assert both.open(sealed, "a") == b"text"
    assert both.seal(b"text", "a") != both.seal(b"text", "a")
    with pytest.raises(StoreUnavailable, match="'new', which this process does not have"):
        old.open(KeyRing.parse(new).seal(b"text", "a"), "a")


KEY = "A" * 43 + "="


@pytest.mark.parametrize("text", ["", " , ", "name", "name:short", f"a b:{KEY}", f"a:{KEY},a:{KEY}"])
def test_invalid_key_ring_is_refused_without_showing_it(text):
    with pytest.raises(SettingsError, match="NAME:KEY") as raised:
        KeyRing.parse(text)
    assert "AAAA" not in str(raised.value)
    assert "short" not in str(raised.value)


def test_sealed_value_cannot_be_changed_or_moved():
    sealed = RING.seal(b"text", "secret", "mine")
    for wrong in (("secret", "other"), ("secret",), ("secretmine",)):
        with pytest.raises(StoreUnavailable, match="changed or moved"):
            RING.open(sealed, *wrong)
    for position in range(len(sealed)):
        changed = sealed[:position] + bytes([sealed[position] ^ 1]) + sealed[position + 1 :]
        with pytest.raises(StoreUnavailable):
            RING.open(changed, "secret", "mine")
    with pytest.raises(StoreUnavailable):
        RING.open(b"", "secret", "mine")


def test_value_of_one_workspace_cannot_be_opened_in_another(workspace, postgres, postgres_url):
    other = new_workspace(postgres, postgres_url)
    with workspace.reading() as cursor:
        sealed = Sealer(workspace, RING).seal(cursor, CANARY, "secret", "a")
    with other.reading() as cursor, pytest.raises(StoreUnavailable, match="does not have"):
        Sealer(other, RING).open(cursor, sealed, "secret", "a")


def test_values_of_an_older_data_key_stay_readable(workspace, postgres_url):
    with workspace.reading() as cursor:
        sealed = Sealer(workspace, RING).seal(cursor, CANARY, "secret", "a")
    with psycopg.connect(postgres_url) as connection, connection.cursor() as cursor:
        add_data_key(cursor, workspace.workspace, RING)
    later = Sealer(workspace, RING)
    with workspace.reading() as cursor:
        assert later.open(cursor, sealed, "secret", "a") == CANARY
        assert later.seal(cursor, CANARY, "secret", "a")[1:17] != sealed[1:17]


async def test_database_does_not_contain_secrets_tokens_or_keys(workspace, sealer, postgres_url):
    await PostgresSecrets(workspace, Threads(), sealer).put("NAME", CANARY)
    async with PostgresTokens(workspace, Threads(), sealer, "http").exclusive("s") as tokens:
        await tokens.replace(json.dumps({"access_token": CANARY}))
    add_services(workspace, "person")
    key = await PostgresApiKeys(workspace, Threads()).create("person", "ci", YEAR)
    with psycopg.connect(postgres_url) as connection:
        tables = connection.execute(
            "select relname from pg_class where relnamespace = 'onetool'::regnamespace and relkind = 'r'"
        )
        content = "".join(
            str(connection.execute(f"select * from onetool.{table}").fetchall())
            for (table,) in tables.fetchall()
        )
    assert CANARY not in content
    assert key.text not in content
    assert key.key.prefix in content


async def test_api_key_is_found_by_its_text_until_it_expires_or_is_revoked(workspace, postgres, postgres_url):
    add_services(workspace, "person")
    keys = PostgresApiKeys(workspace, Threads())
    created = await keys.create("person", "ci", YEAR, ["weather.*"])
    found = await keys.find(created.text)
    assert found == created.key
    assert (found.owner, found.patterns, found.name) == ("person", ("weather.*",), "ci")
    now = datetime.now(UTC)
    assert (found.is_valid(now), found.is_valid(now + YEAR)) == (True, False)
    assert await keys.find(created.text[:-1]) is None
    assert await keys.find("x" + created.text) is None
    assert await PostgresApiKeys(new_workspace(postgres, postgres_url), Threads()).find(created.text) is None

    generation = workspace.generation
    assert (await keys.revoke(found.id), await keys.revoke(found.id)) == (True, False)
    assert not (await keys.find(created.text)).is_valid(now)
    assert workspace.generation > generation
    assert [key.id for key in await keys.list()] == [found.id]


async def test_secrets_are_stored_replaced_and_deleted(workspace, sealer, postgres, postgres_url):
    secrets = PostgresSecrets(workspace, Threads(), sealer)
    await secrets.put("A", "old")
    await secrets.put("A", CANARY, ["api.example.com"])
    (secret,) = secrets.read().values()
    assert (secret.value, secret.hosts) == (CANARY, ("api.example.com",))
    assert CANARY not in repr(secret)
    other = new_workspace(postgres, postgres_url)
    assert PostgresSecrets(other, Threads(), Sealer(other, RING)).read() == {}
    assert (await secrets.delete("A"), await secrets.delete("A")) == (True, False)


async def test_of_two_changes_of_one_version_of_settings_one_succeeds(workspace):
    settings = PostgresSettings(workspace, Threads())
    first = settings.read()
    assert first == (0, {}, {})
    changed = [SettingsVersion(first.version, {"aliases": {str(n): "a.b"}}, {}) for n in range(8)]
    assert sorted(await asyncio.gather(*(settings.put(item, "person") for item in changed))) == [
        False
    ] * 7 + [True]
    assert settings.read().version == 1


def test_workspaces_are_found_by_their_slugs(postgres, postgres_url):
    admin, directory = WorkspaceAdmin(postgres_url, RING), Directory(postgres)
    created = admin.create("team-a", "Team A")
    assert directory.find("team-a") == created
    assert created in admin.list()
    for missing in ("team-b", "", "Team-A", "a" * 64, "x\0y", "../etc"):
        assert directory.find(missing) is None
    with pytest.raises(SettingsError, match="already"):
        admin.create("team-a")
    with pytest.raises(SettingsError, match="no name for URLs"):
        admin.create("Team A")
    assert (admin.delete("team-a"), admin.delete("team-a")) == (True, False)
    assert directory.find("team-a") is None


def test_another_key_ring_is_refused(postgres, postgres_url, workspace):
    directory, wrong = Directory(postgres), KeyRing({"test": b"w" * KEY_BYTES})
    directory.check_keys(RING)
    directory.check_keys(KeyRing({"next": b"n" * KEY_BYTES, "test": b"k" * KEY_BYTES}))
    with pytest.raises(StoreUnavailable, match="cannot be opened"):
        directory.check_keys(wrong)
    with pytest.raises(StoreUnavailable, match="cannot be opened"):
        WorkspaceAdmin(postgres_url, wrong).create("other-ring")
    assert directory.find("other-ring") is None


async def test_owner_has_at_most_a_hundred_valid_keys(workspace):
    add_services(workspace, "anna", "ben")
    keys = PostgresApiKeys(workspace, Threads())
    created = [await keys.create("anna", "k", YEAR) for _ in range(MAX_KEYS)]
    with pytest.raises(MemberError, match=f"'anna' has {MAX_KEYS} valid API keys"):
        await keys.create("anna", "k", YEAR)
    await keys.create("ben", "k", YEAR)
    assert await keys.revoke(created[0].key.id)
    await keys.create("anna", "k", YEAR)
