"""A workspace neither sees nor changes the rows of another one: not with SQL, and not with any store."""

import asyncio
import random
from contextlib import suppress

import psycopg
import pytest

from onetool.storage.postgres.database import SETTINGS, Database
from onetool.threads import Threads
from storage.workspace_calls import WORD, AnyIds, WorkspaceCalls, canary_of, texts
from support.postgres import new_workspace

REFUSED = psycopg.errors.InsufficientPrivilege
SEED = 20_261_117
INTERNAL = frozenset({"aclose", "generation", "problems", "lease_s"})
"""Public names of stores that return nothing which is stored."""
WRITING = [
    "bundles.change_bundle",
    "bundles.import_bundle",
    "bundles.add_tool",
    "toggles.set",
    "manifests.change",
    "tokens.exclusive",
    "http_tokens.exclusive",
    "member_tokens.of",
    "begun_logins.put",
    "results.put",
    "results.put_media",
    "sessions.append",
    "session_leases.take",
    "client_sessions.put",
    "activity.add",
    "keys.create",
    "secrets.put",
    "settings.put",
    "members.put",
    "members.put_grant",
    "own_secrets.put",
    "client_grants.allow",
]
WITHOUT_ROWS = frozenset({"jobs", "queue", "packs", "has_files"})
"""Parts of the stores that are not in the database."""
DENIED = {
    "settings": {"update", "delete"},
    "data_keys": {"insert", "update", "delete"},
    "workspace_state": {"insert", "update", "delete"},
    "result_totals": {"delete"},
    "audit": {"update", "delete"},
}
"""What the application cannot do, even with rows of its workspace."""
SAMPLES = {
    "uuid": "%(id)s::uuid",
    "text": "%(text)s::text",
    "bytea": "convert_to(%(text)s, 'UTF8')",
    "boolean": "true",
    "integer": "1",
    "bigint": "1",
    "double precision": "1",
    "timestamp with time zone": "'2026-01-01'::timestamptz",
    "text[]": "array[%(text)s::text]",
    "bigint[]": "array[1::bigint]",
    "tsvector": "to_tsvector('simple', %(text)s)",
}
"""A value of each type that tables use."""
CHOICES = {
    ("members", "kind"): "'service'",
    ("members", "role"): "'owner'",
    ("grants", "effect"): "'deny'",
    ("invitations", "role"): "'owner'",
    ("oauth_tokens", "kind"): "'code'",
}
"""A value of each column that has few."""


class Tables:
    """All tables of the schema, with one row or more of two workspaces in each."""

    def __init__(self, url, own, other):
        self.url, self.own, self.other = url, own.workspace, other.workspace
        with psycopg.connect(url) as owner:
            rows = owner.execute(
                "select relname, attname, format_type(atttypid, atttypmod) from pg_class"
                " join pg_attribute on attrelid = pg_class.oid and attnum > 0 and not attisdropped"
                " where relnamespace = 'onetool'::regnamespace and relkind in ('r', 'p', 'v', 'm', 'f')"
                " order by relname, attnum"
            ).fetchall()
            self.columns: dict[str, dict[str, str]] = {}
            for table, column, type_name in rows:
                sample = CHOICES.get((table, column), SAMPLES[type_name])
                self.columns.setdefault(table, {})[column] = sample
            owner.execute("set session_replication_role = replica")  # in any order of the tables
            for workspace in (self.own, self.other):
                for table in self.columns:
                    owner.execute(f"{self.insert(table)} on conflict do nothing", self.values(workspace))

    def insert(self, table):
        """Return a statement that inserts a row of the workspace of the values."""
        return f"insert into onetool.{table} ({', '.join(self.columns[table])}) select " + ", ".join(
            self.columns[table].values()
        )

    def values(self, workspace):
        return {"id": workspace, "text": f"row {canary_of(workspace)}"}

    def snapshot(self, workspace):
        """Return the rows of a workspace as the database itself sees them."""
        with psycopg.connect(self.url) as owner:
            return {
                table: owner.execute(
                    f"select * from onetool.{table} where workspace_id = %s order by 1, 2", (workspace,)
                ).fetchall()
                for table in self.columns
            }

    def as_application(self, *, is_kept=False):
        """Return a transaction of the application in the own workspace."""
        return Application(self.url, self.own, is_kept)


class Application:
    def __init__(self, url, workspace, is_kept):
        self._connection, self._workspace, self._is_kept = psycopg.connect(url), workspace, is_kept

    def __enter__(self):
        self._connection.execute(SETTINGS.encode())
        self._connection.execute("select onetool.begin_read(%s)", (self._workspace,))
        return self._connection

    def __exit__(self, kind, *_):
        with self._connection as connection:
            if kind is not None or not self._is_kept:
                connection.rollback()


@pytest.fixture
def tables(workspace, postgres, postgres_url):
    return Tables(postgres_url, workspace, new_workspace(postgres, postgres_url))


@pytest.mark.guards("tenant-rows")
def test_application_selects_no_row_of_another_workspace_from_any_table(tables):
    foreign = canary_of(tables.other)
    for table in tables.columns:
        with tables.as_application() as connection:
            rows = connection.execute(f"select * from onetool.{table}").fetchall()
            wanted = f"select * from onetool.{table} where workspace_id = %s"
            assert connection.execute(wanted, (tables.other,)).fetchall() == [], table
            with connection.cursor().copy(f"copy onetool.{table} to stdout") as copy:
                copied = b"".join(copy).decode()
        assert rows, table
        assert {row[0] for row in rows} == {tables.own}, table
        assert foreign not in texts(rows) + copied, table
        assert str(tables.other) not in copied, table


@pytest.mark.guards("tenant-rows")
def test_application_changes_no_row_of_another_workspace_in_any_table(tables):
    """Each statement is refused, or affects no row."""
    before = tables.snapshot(tables.other)
    assert all(before.values())
    for table, columns in tables.columns.items():
        same = ", ".join(f"{column} = {column}" for column in columns)
        where = "where workspace_id = %(id)s"
        for statement in (
            f"update onetool.{table} set {same} {where}",
            f"delete from onetool.{table} {where}",
            f"merge into onetool.{table} using (select 1) as one on workspace_id = %(id)s"
            " when matched then delete",
        ):
            with suppress(REFUSED), tables.as_application(is_kept=True) as connection:
                assert connection.execute(statement, tables.values(tables.other)).rowcount == 0, statement
    assert tables.snapshot(tables.other) == before


def test_statements_without_a_condition_affect_only_the_own_workspace(tables):
    before = tables.snapshot(tables.other)
    for table, columns in tables.columns.items():
        same = ", ".join(f"{column} = {column}" for column in columns)
        with suppress(REFUSED), tables.as_application() as connection:
            updated = connection.execute(f"update onetool.{table} set {same} returning workspace_id")
            assert {row[0] for row in updated.fetchall()} == {tables.own}, table
    with tables.as_application(is_kept=True) as connection:
        deleted = delete_all(connection, tables.columns)
    assert {table: found for table, found in deleted.items() if not found <= {tables.own}} == {}
    assert tables.snapshot(tables.other) == before
    kept = {table for table, rows in tables.snapshot(tables.own).items() if rows}
    assert kept == {table for table, denied in DENIED.items() if "delete" in denied}


def delete_all(connection, tables):
    """Delete the rows of all tables, those that others need last. Return the workspaces of the rows."""
    deleted, waiting = {}, list(tables)
    while waiting:
        table = waiting.pop(0)
        try:
            with connection.transaction():
                found = connection.execute(f"delete from onetool.{table} returning workspace_id").fetchall()
            deleted[table] = {row[0] for row in found}
        except REFUSED:
            deleted[table] = set()
        except psycopg.errors.ForeignKeyViolation:
            waiting.append(table)
    return deleted


@pytest.mark.guards("tenant-rows")
def test_application_inserts_no_row_into_another_workspace_in_any_table(tables):
    """Also none that would be refused as a duplicate: that would reveal which rows exist."""
    before = tables.snapshot(tables.other)
    for table in tables.columns:
        values = tables.values(tables.other)
        new = values | {"text": "new"}
        statements = [
            (tables.insert(table), values),
            (tables.insert(table), new),
            (f"{tables.insert(table)} on conflict do nothing", values),
            (f"update onetool.{table} set workspace_id = %(id)s", values),
        ]
        for statement, arguments in statements:
            assert is_refused(tables, statement, arguments), statement
    assert tables.snapshot(tables.other) == before


def test_application_truncates_no_table(tables):
    for table in tables.columns:
        for statement in (f"truncate onetool.{table}", f"truncate onetool.{table} cascade"):
            assert is_refused(tables, statement), statement


def is_refused(tables, statement, arguments=None):
    """Return whether a statement that would be committed is refused."""
    try:
        with tables.as_application(is_kept=True) as connection:
            connection.execute(statement, arguments)
    except REFUSED:
        return True
    return False


def test_rows_that_must_not_change_cannot_be_changed_by_their_own_workspace(tables):
    """All other tables can be written by the application."""
    new = tables.values(tables.own) | {"text": "new"}
    for table in tables.columns:
        statements = {
            "insert": f"{tables.insert(table)} on conflict do nothing",
            "update": f"update onetool.{table} set workspace_id = workspace_id",
            "delete": f"delete from onetool.{table}",
        }
        denied = set()
        for action, statement in statements.items():
            try:
                with tables.as_application() as connection:
                    connection.execute("set constraints all deferred")
                    connection.execute(statement, new)
            except REFUSED:
                denied.add(action)
            except psycopg.errors.ForeignKeyViolation:
                pass  # allowed, but other rows need this one
        assert denied == DENIED.get(table, set()), table


@pytest.mark.guards("tenant-rows")
def test_application_owns_nothing_and_cannot_become_another_role(tables):
    with tables.as_application() as connection:
        owned = "select relname from pg_class where relowner = current_user::regrole"
        assert connection.execute(owned).fetchall() == []
        member = "select rolname from pg_roles where pg_has_role(current_user, oid, 'member')"
        assert connection.execute(member).fetchall() == [("onetool_app",)]
        special = (
            "select rolsuper or rolbypassrls or rolcreaterole from pg_roles where rolname = current_user"
        )
        assert connection.execute(special).fetchall() == [(False,)]


@pytest.fixture(params=["direct", "pgbouncer"])
def database(request, postgres):
    """Return connections to the database, also those that share two connections of a PgBouncer."""
    if request.param == "direct":
        yield postgres
        return
    pooled = Database(request.getfixturevalue("pgbouncer").url)
    yield pooled
    pooled.close()


@pytest.mark.guards("tenant-rows")
@pytest.mark.stress
async def test_no_method_of_any_store_returns_or_changes_what_another_workspace_stores(
    database, postgres_url, size
):
    """Workspaces call at the same time, on the same connections, with ids and names of each other."""
    threads, number = Threads(), size(6, 50)
    ids = AnyIds.create(number)
    workspaces = [
        WorkspaceCalls(new_workspace(database, postgres_url), threads, ids, f"{SEED} {n}")
        for n in range(number)
    ]
    ids.canaries += [own.canary for own in workspaces]
    try:
        await asyncio.gather(*(make_calls(own, size(500, 10_000) // number + 1, ids) for own in workspaces))
        assert stored_rows(postgres_url, workspaces) == {
            own.workspace.workspace: own.rows() for own in workspaces
        }
    except BaseException as error:
        error.add_note(f"seed {SEED}")
        raise


async def make_calls(own, calls, ids):
    """Store something with every method that writes, then call random methods, one after another."""
    rng, methods, made = random.Random(f"{SEED} {own.rng.random()}"), sorted(own.methods()), []
    foreign = [canary[:WORD] for canary in ids.canaries if canary != own.canary]
    for name in [*WRITING * 4, *rng.choices(methods, k=calls)]:
        made.append(name)
        try:
            found = await own.call(name)
        except BaseException as error:
            error.add_note(f"after {made}")
            raise
        assert not [canary for canary in foreign if canary in found], f"{name} after {made}"


def stored_rows(url, workspaces):
    """Return how many rows each workspace has in each table."""
    counts = {own.workspace.workspace: {} for own in workspaces}
    with psycopg.connect(url) as owner:
        tables = owner.execute(
            "select relname from pg_class"
            " where relnamespace = 'onetool'::regnamespace and relkind in ('r', 'p')"
        ).fetchall()
        for (table,) in tables:
            query = (
                f"select workspace_id, count(*) from onetool.{table} where workspace_id = any(%s) group by 1"
            )
            for workspace, number in owner.execute(query, (list(counts),)).fetchall():
                counts[workspace][table] = number
    return counts


def test_random_calls_include_every_method_of_every_store(workspace):
    own = WorkspaceCalls(workspace, Threads(), AnyIds.create(1), 0)
    stores = {name: getattr(own.stores, name) for name in own.stores.__dataclass_fields__}
    stores |= {"keys": own.keys, "secrets": own.secrets, "settings": own.settings}
    stores |= {"members": own.members, "own_secrets": own.own_secrets, "invitations": own.invitations}
    stores |= {"begun_logins": own.begun_logins}
    of_member = {"member_tokens.read", "member_tokens.exclusive", "tokens.of", "http_tokens.of"}
    stores |= {"client_grants": own.client_grants}
    expected = {
        f"{name}.{method}"
        for name, store in stores.items()
        if name not in WITHOUT_ROWS
        for method in dir(store)
        if method[0] != "_" and method not in INTERNAL
    }
    assert set(own.methods()) == expected - of_member
