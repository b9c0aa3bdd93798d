"""Rotation of the data keys of a workspace: nothing is lost, and nothing needs the old key."""

import asyncio
from contextlib import ExitStack
from datetime import timedelta

import psycopg
import pytest

from onetool.domain.errors import SettingsError, StoreUnavailable
from onetool.storage.postgres import key_rotation, timed_connection
from onetool.storage.postgres.database import Database
from onetool.storage.postgres.directory import WorkspaceAdmin
from onetool.storage.postgres.key_ring import KEY_BYTES, KeyRing
from onetool.storage.postgres.key_rotation import LOCK, rotate_keys
from onetool.storage.postgres.rewrap import rewrap_keys
from onetool.storage.postgres.sealed_columns import SEALED_COLUMNS
from onetool.storage.postgres.sealer import DATA_KEY, Sealer, add_data_key
from onetool.storage.postgres.workspace_database import WorkspaceDatabase
from storage.sealed_values import OWNER, SealedValues
from support.postgres import RING, delete_workspaces, execute, new_database, waits_for_lock
from support.waiting import HANG_S, until

TEXTS = ("canary-1", "canary-2", "canary-3")


class Interruption(BaseException):
    """Ends a rotation in the middle."""


class Team:
    """A database with one workspace, and values in all its sealed columns."""

    def __init__(self, url: str, stack: ExitStack) -> None:
        self.url, self.database, self._stack = url, Database(url), stack
        stack.callback(self.database.close)
        self.id = WorkspaceAdmin(url, RING).create("team").id
        self.process = self.new_process()

    def new_process(self, ring: KeyRing = RING) -> SealedValues:
        """Return the stores as another process has them."""
        process = SealedValues(WorkspaceDatabase(self.database, self.id), ring)
        self._stack.callback(process.threads.close)
        return process

    def rotate(self, **options):
        (done,) = rotate_keys(self.url, RING, "team", **options)
        return done

    def execute(self, query, *values):
        return execute(self.url, query, *values)

    def add_key(self):
        """Begin a rotation that is interrupted at once."""
        with psycopg.connect(self.url) as connection:
            add_data_key(connection, self.id, RING)

    async def wait_for_lock(self):
        await until(lambda: waits_for_lock(self.url))


@pytest.fixture(scope="module")
def url():
    with new_database() as url:
        yield url


@pytest.fixture
async def team(url):
    with ExitStack() as stack:
        team = Team(url, stack)
        await team.process.put_all(*TEXTS)
        yield team
        await team.process.jobs.aclose()
    delete_workspaces(url)


def check(process, *texts):
    """Check that everything can be opened, and only with the one data key that there is."""
    found = process.read_all()
    assert {table: len(values) for table, values in found.items()} == {
        column.table: len(texts) for column in SEALED_COLUMNS
    }
    for table, values in found.items():
        for text, value in zip(sorted(texts), values, strict=True):
            assert f"{table}-{text}" in value
    (newest,) = process.data_keys()
    assert process.key_names() == {newest}
    return newest


def test_rotation_says_that_the_database_hangs(team, monkeypatch):
    monkeypatch.setattr(timed_connection, "ANSWER_S", 3.0)
    monkeypatch.setattr(key_rotation, "EXISTS", "select from pg_sleep(60) where %s <> ''")
    with pytest.raises(StoreUnavailable, match="has not responded for"):
        team.rotate()


async def test_all_values_are_sealed_with_a_new_key_and_the_old_one_is_deleted(team):
    old = check(team.process, *TEXTS)
    lines = []
    done = team.rotate(report=lines.append)
    assert (done.values, done.unreadable) == (len(TEXTS) * len(SEALED_COLUMNS), [])
    assert lines == [f"team: {len(TEXTS) * len(SEALED_COLUMNS)} values sealed again"]
    assert check(team.process, *TEXTS) == check(team.new_process(), *TEXTS) != old
    ((target, detail),) = team.execute(
        "select target, detail from onetool.audit where action = 'keys.rotate'"
    )
    assert (target, detail) == (team.process.data_keys()[0], f'{{"from": ["{old}"]}}')


async def test_process_that_has_not_heard_of_the_new_key_seals_with_it(team):
    stale = team.new_process()
    assert stale.read_all()
    team.add_key()
    await stale.put_all("later")
    old, new = stale.data_keys()
    assert stale.key_names() == {old, new}
    assert team.rotate().values == len(TEXTS) * len(SEALED_COLUMNS)  # none of those that came later
    check(stale, *TEXTS, "later")
    await stale.jobs.aclose()


async def test_value_whose_transaction_began_before_the_new_key_is_sealed_again(team):
    stale = team.new_process()
    with stale.workspace.recording() as cursor:
        rotation = asyncio.create_task(asyncio.to_thread(team.rotate))
        await team.wait_for_lock()
        sealed = stale.sealer.seal(cursor, "secrets-last", "secret", "last")
        cursor.execute("insert into secrets values (%s, 'last', %s)", (team.id, sealed))
    done = await rotation
    assert done.values == len(TEXTS) * len(SEALED_COLUMNS) + 1
    assert stale.secrets.read()["last"].value == "secrets-last"
    assert stale.key_names() == set(stale.data_keys())


@pytest.mark.parametrize("is_deleted", [False, True])
async def test_value_that_changes_meanwhile_is_not_overwritten(team, is_deleted):
    team.add_key()
    name, writer = f"secrets-{TEXTS[0]}", team.new_process()
    with writer.workspace.recording() as cursor:
        sealed = writer.sealer.seal(cursor, "changed", "secret", name)
        if is_deleted:
            cursor.execute("delete from secrets where name = %s", (name,))
        else:
            cursor.execute("update secrets set sealed = %s where name = %s", (sealed, name))
        rotation = asyncio.create_task(asyncio.to_thread(team.rotate))
        await team.wait_for_lock()
    assert (await rotation).values == len(TEXTS) * len(SEALED_COLUMNS) - 1
    secret = writer.secrets.read().get(name)
    assert (secret and secret.value) == (None if is_deleted else "changed")
    assert writer.key_names() == set(writer.data_keys())


async def test_interrupted_rotation_is_completed_by_the_next_one(team, monkeypatch):
    monkeypatch.setattr(key_rotation, "BATCH", 1)
    monkeypatch.setattr(key_rotation, "REPORTED", 1)
    for count in range(1, len(TEXTS) * len(SEALED_COLUMNS) + 1):
        stop_at = f"team: {count} values sealed again so far"

        def interrupt(line, stop_at=stop_at):
            if line == stop_at:
                raise Interruption

        with pytest.raises(Interruption):
            team.rotate(report=interrupt)
        begun = team.process.data_keys()
        assert len(begun) == 2
        reader = team.new_process()
        assert {table: len(found) for table, found in reader.read_all().items()} == {
            column.table: len(TEXTS) for column in SEALED_COLUMNS
        }
        assert team.rotate(older_than=timedelta(days=1)).values == len(TEXTS) * len(SEALED_COLUMNS) - count
        assert check(reader, *TEXTS) == begun[-1]


@pytest.mark.parametrize("column", SEALED_COLUMNS, ids=lambda column: column.table)
async def test_key_of_a_value_that_cannot_be_opened_stays(team, column):
    team.execute(f"update onetool.{column.table} set {column.column} = {column.column} || 'x'::bytea")
    done = team.rotate()
    assert len(done.unreadable) == len(TEXTS)
    assert all(line.startswith(f"{column.table} '") for line in done.unreadable)
    assert all("was changed or moved" in line for line in done.unreadable)
    assert not any("canary" in line.partition(":")[2] for line in done.unreadable)
    assert done.values == len(TEXTS) * (len(SEALED_COLUMNS) - 1)
    old, new = team.process.data_keys()
    assert team.process.key_names() == {old, new}
    team.execute(f"delete from onetool.{column.table}")
    assert team.rotate().unreadable == []
    assert team.process.data_keys() == [new]


async def test_keys_that_are_derived_stay_the_same(team):
    def derived(process):
        with process.workspace.reading() as cursor:
            return process.sealer.derived_key(cursor, "a"), process.sealer.derived_key(cursor, "b")

    before = derived(team.process)
    assert len(set(before)) == 2
    team.rotate()
    team.rotate()
    assert derived(team.process) == derived(team.new_process()) == before


async def test_data_key_without_a_root_keeps_what_is_derived(team):
    name, key = "first", b"d" * KEY_BYTES
    sealed = RING.seal(key, DATA_KEY, str(team.id), name)
    team.execute("delete from onetool.secrets")
    for table in ("own_secrets", "credentials", "jobs"):
        team.execute(f"delete from onetool.{table}")
    team.execute("update onetool.data_keys set id = %s, sealed = %s", name, sealed)
    with team.process.workspace.reading() as cursor:
        before = Sealer(team.process.workspace, RING).derived_key(cursor, "a")
    team.rotate()
    with team.process.workspace.reading() as cursor:
        assert Sealer(team.process.workspace, RING).derived_key(cursor, "a") == before


async def test_new_key_is_the_newest_after_the_clock_was_set_back(team):
    team.execute("update onetool.data_keys set created_at = now() + interval '1 day'")
    old = check(team.process, *TEXTS)
    team.rotate()
    assert check(team.process, *TEXTS) != old


async def test_new_data_key_needs_no_key_that_the_old_one_does_not(team):
    """Servers may not have the first key of the operator's ring yet."""
    both = KeyRing({"next": b"n" * KEY_BYTES, "test": b"k" * KEY_BYTES})
    rotate_keys(team.url, both)
    check(team.new_process(RING), *TEXTS)
    assert rewrap_keys(team.url, both) == 1
    rotate_keys(team.url, both)
    check(team.new_process(KeyRing({"next": b"n" * KEY_BYTES})), *TEXTS)


async def test_without_the_ring_nothing_changes(team):
    before = team.process.data_keys()
    with pytest.raises(StoreUnavailable, match="'test', which this process does not have"):
        rotate_keys(team.url, KeyRing({"next": b"n" * KEY_BYTES}))
    assert [check(team.process, *TEXTS)] == before


async def test_one_process_rotates_at_a_time(team):
    with psycopg.connect(team.url) as connection:
        connection.execute("select pg_advisory_lock(%s)", (LOCK,))
        with pytest.raises(StoreUnavailable, match="Another process is rotating keys"):
            team.rotate()
    assert team.rotate().values


async def test_writer_without_a_pause_is_waited_for_but_not_for_ever(team, monkeypatch):
    monkeypatch.setattr(key_rotation, "WAIT_MS", 1)
    monkeypatch.setattr(key_rotation, "ATTEMPTS", 2)
    with (
        team.process.workspace.recording(),
        pytest.raises(StoreUnavailable, match="'team' is being written without a pause"),
    ):
        team.rotate()
    assert len(team.process.data_keys()) == 1


async def test_workspace_that_is_being_moved_is_not_changed(team):
    needed = team.process.key_names()
    for keys in (1, 2):
        team.execute("update onetool.workspace_state set fenced = true")
        with pytest.raises(StoreUnavailable, match="is read-only"):
            team.rotate()
        assert len(team.process.data_keys()) == keys
        assert team.process.key_names() == needed
        team.execute("update onetool.workspace_state set fenced = false")
        team.add_key()


async def test_key_that_is_still_in_use_is_not_deleted(team):
    team.execute("""create function keep_old() returns trigger language plpgsql as $$
        begin new.sealed = old.sealed; return new; end $$;
        create trigger keep_old before update on onetool.secrets for each row execute function keep_old()""")
    with pytest.raises(StoreUnavailable, match="still being sealed with an older key"):
        team.rotate()
    team.execute("drop function keep_old cascade")
    assert len(team.process.data_keys()) == 2
    assert team.process.read_all()


async def test_workspaces_are_selected_by_name_and_age(team):
    admin = WorkspaceAdmin(team.url, RING)
    for slug in ("deleted", "other"):
        admin.create(slug)
    admin.delete("deleted")
    team.execute(
        "update onetool.data_keys set created_at = now() - interval '3 days' where workspace_id = %s", team.id
    )
    two_days = timedelta(days=2)
    assert rotate_keys(team.url, RING, "other", older_than=two_days) == []
    assert [done.slug for done in rotate_keys(team.url, RING, older_than=two_days)] == ["team"]
    assert [done.slug for done in rotate_keys(team.url, RING)] == ["deleted", "other", "team"]
    for slug in ("unknown", "deleted"):
        with pytest.raises(SettingsError, match=f"There is no workspace '{slug}'"):
            rotate_keys(team.url, RING, slug)


class RotatingSealer(Sealer):
    """Keys are rotated between the first reading of a value and its opening."""

    rotate = None

    def open(self, cursor, sealed, *place):
        if self.rotate:
            self.rotate, rotate = None, self.rotate
            rotate()
        return super().open(cursor, sealed, *place)


async def test_value_whose_key_is_retired_while_it_is_read_is_read_again(team):
    process = team.process
    for store, read, expected in (
        (process.secrets, process.threads.run(process.secrets.read), "secrets-canary-1"),
        (process.own_secrets, process.own_secrets.of(OWNER), "own_secrets-canary-1"),
        (process.tokens, process.tokens.read("credentials-canary-1"), "credentials-canary-1"),
    ):
        sealer = RotatingSealer(process.workspace, RING)
        sealer.rotate = team.rotate
        vars(store)["_sealer"] = sealer
        assert expected in await asyncio.wait_for(read, HANG_S)
        assert sealer.rotate is None
