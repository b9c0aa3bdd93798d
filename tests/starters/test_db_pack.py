"""The db pack: SQLite files and a real PostgreSQL are asked, and stay as they are."""

import getpass
import os
import pwd
import shutil
import sqlite3
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import pytest

from onetool.domain.caller import Caller, grant
from onetool.starters import db
from onetool.testing import MemoryTools, memory_runtime

NUMBERS = "WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c)"
SCHEMA = """
CREATE TABLE items (id INTEGER PRIMARY KEY, name TEXT NOT NULL, price REAL DEFAULT 1.5, photo {bytes});
CREATE VIEW cheap AS SELECT name FROM items WHERE price < 5;
INSERT INTO items VALUES (1, 'ant', 2.5, {blob}), (2, 'bee', 7.5, NULL), (3, 'cat', 9, NULL);
"""


@pytest.fixture
def shop(tmp_path):
    """A directory with a database in it."""
    root = tmp_path / "root"
    root.mkdir()
    with sqlite3.connect(root / "shop.db") as connection:
        connection.executescript(SCHEMA.format(bytes="BLOB", blob="x'00ff'"))
    connection.close()
    return root


@pytest.fixture
async def ot(shop):
    async with memory_runtime(cwd=shop, secrets={"KEY": "sk-hidden"}) as tools:
        yield tools


async def ask(ot, sql, database="shop.db", **args):
    return await ot.call("db.query", sql=sql, database=database, **args)


async def test_a_sqlite_file_is_asked(ot):
    """Values are bound, rows are counted, and bytes are told by their number."""
    result = await ask(
        ot, "SELECT name, price, photo FROM items WHERE price < ? ORDER BY id", params=[8], max_rows=1
    )
    assert result.data == {
        "columns": ["name", "price", "photo"],
        "rows": [["ant", 2.5, "<2 bytes>"]],
        "more": True,
    }
    assert (await ask(ot, "SELECT 1 WHERE 0")).data == {"columns": ["1"], "rows": [], "more": False}
    assert (await ask(ot, "EXPLAIN QUERY PLAN SELECT * FROM items")).ok


async def test_the_schema_of_a_sqlite_file(ot):
    """Tables and views, and the columns of one."""
    tables = (await ot.call("db.tables", database="shop.db")).data
    assert tables == [{"name": "cheap", "type": "view"}, {"name": "items", "type": "table"}]
    columns = (await ot.call("db.describe", table="items", database="shop.db")).data
    assert columns[0] == {"name": "id", "type": "INTEGER", "nullable": False, "default": None, "key": True}
    assert columns[2] == {"name": "price", "type": "REAL", "nullable": True, "default": "1.5", "key": False}
    missing = await ot.call("db.describe", table="x'; DROP TABLE items", database="shop.db")
    assert "There is no table" in missing.error.message


async def test_nothing_is_written_to_a_sqlite_file(ot, shop):
    """Whatever the statement, the file stays as it is, and no other appears."""
    before = (shop / "shop.db").read_bytes()
    for sql in (
        "DELETE FROM items",
        "INSERT INTO items (name) VALUES ('x') RETURNING id",
        "WITH x AS (SELECT 1) UPDATE items SET name = ''",
        "DROP TABLE items",
        "CREATE TEMP TABLE t (a)",
        "ATTACH 'other.db' AS o",
        "ATTACH ':memory:' AS o",
        "DETACH main",
        "VACUUM",
        "VACUUM INTO 'copy.db'",
        "PRAGMA writable_schema = ON",
        "PRAGMA query_only = OFF",
        "PRAGMA journal_mode = WAL",
        "PRAGMA temp_store_directory = '/etc'",
        "BEGIN",
        "ANALYZE",
        "SELECT load_extension('x')",
        "SELECT fts3_tokenizer('x')",
        "CREATE VIRTUAL TABLE v USING fts5(a)",
    ):
        result = await ask(ot, sql)
        assert db.READ_ONLY in result.error.message, sql
    schema = "UPDATE sqlite_master SET sql = ''"
    for sql in (
        schema,
        "SELECT 1; DELETE FROM items",
        "SELECT writefile('x', 'y')",
        "SELEC 1",
        "SELECT ?",
    ):
        assert not (await ask(ot, sql)).data, sql
    assert (shop / "shop.db").read_bytes() == before
    assert [path.name for path in shop.iterdir()] == ["shop.db"]


def hurried(ot):
    """The same tools, for somebody who has little time."""
    return MemoryTools(ot.runtime, Caller(door="python", approve=grant, deadline=time.monotonic() + 3))


async def test_a_query_without_end_is_stopped(ot):
    """In the time that the call has, with words."""
    result = await ask(hurried(ot), f"{NUMBERS} SELECT count(*) FROM c")
    assert "did not end in time" in result.error.message


async def test_answers_have_bounds(ot):
    """Long values are cut, many of them end the answer, and giant ones are refused."""
    long = (await ask(ot, "SELECT printf('%.*c', 20000, 'x')")).data["rows"][0][0]
    assert long == "x" * 10_000 + "... (20000 characters)"
    data = (await ask(ot, f"{NUMBERS} SELECT printf('%.*c', 20000, 'x') FROM c", max_rows=10**9)).data
    assert data["more"]
    assert len(data["rows"]) < 110
    assert "too big" in (await ask(ot, "SELECT zeroblob(100000000)")).error.message
    started = time.perf_counter()
    await ask(ot, "SELECT printf('%.*c', 100000, 'a') LIKE ?", params=["%a" * 20 + "%b"])
    assert time.perf_counter() - started < 10


async def test_odd_values_come_through(ot, shop):
    """Numbers beyond 64 bits, lists, and text that is no UTF-8."""
    with sqlite3.connect(shop / "shop.db") as connection:
        connection.execute("INSERT INTO items (id, name) VALUES (9, CAST(x'61ff' AS TEXT))")
    connection.close()
    assert (await ask(ot, "SELECT name FROM items WHERE id = 9")).data["rows"] == [["a\ufffd"]]
    assert "too large" in (await ask(ot, "SELECT ?", params=[2**70])).error.message
    assert "SQLite says" in (await ask(ot, "SELECT ?", params=[[1]])).error.message


async def test_full_text_search_and_a_log_beside_the_file_work(ot, shop):
    """A database in use, with its write-ahead log, is read as it is now."""
    writer = sqlite3.connect(shop / "live.db")
    writer.executescript("PRAGMA journal_mode = WAL; CREATE VIRTUAL TABLE notes USING fts5(text);")
    writer.execute("INSERT INTO notes VALUES ('the quick fox')")
    writer.commit()
    found = await ask(ot, "SELECT text FROM notes WHERE notes MATCH ?", "live.db", params=["quick"])
    writer.close()
    assert found.data["rows"] == [["the quick fox"]]


async def test_only_databases_that_are_allowed(ot, shop):
    """Neither paths nor links nor parts of a URI lead out; what is no database says so."""
    outside = shop.parent / "outside.db"
    shutil.copy(shop / "shop.db", outside)
    (shop / "link.db").symlink_to(outside)
    (shop / "dir").symlink_to(shop.parent)
    (shop / "text.db").write_text("this is no database at all")
    os.mkfifo(shop / "pipe.db")
    for path in (
        "../outside.db",
        str(outside),
        "link.db",
        "dir/outside.db",
        ":memory:?mode=rwc",
        "file:shop.db?mode=rw",
    ):
        assert not (await ask(ot, "SELECT * FROM items", path)).ok, path
    assert "is not a SQLite database" in (await ask(ot, "SELECT 1", "text.db")).error.message
    assert "is not a regular file" in (await ask(ot, "SELECT 1", "pipe.db")).error.message
    (shop / "odd ?mode=rwc#%41.db").write_bytes(outside.read_bytes())
    assert (await ask(ot, "SELECT count(*) FROM items", "odd ?mode=rwc#%41.db")).data["rows"] == [[3]]
    assert not (shop / "odd").exists()


async def test_a_secret_of_another_kind_is_not_shown(ot):
    """Its name may be guessed, its value is not repeated."""
    result = await ask(ot, "SELECT 1", "KEY")
    assert result.error.message == "ValueError: The secret 'KEY' does not hold a postgresql:// URL."


async def test_without_psycopg_it_says_what_to_install(monkeypatch):
    """SQLite needs nothing, PostgreSQL an extra; the check names it."""
    monkeypatch.setitem(sys.modules, "psycopg", None)
    async with memory_runtime(secrets={"SHOP": "postgresql://u@127.0.0.1:1/x"}) as ot:
        result = await ask(ot, "SELECT 1", "SHOP")
        assert 'pip install "onetool[postgres]"' in result.error.message
        assert "onetool[postgres]" in str((await ot.call("ot.check", tool="db")).data)


def _program(name):
    found = [shutil.which(name), *map(str, Path("/usr/lib/postgresql").glob(f"*/bin/{name}"))]
    return next(filter(None, found), None)


@pytest.fixture(scope="module")
def postgres():
    """The URL of a PostgreSQL server of our own; it refuses to be started by root."""
    pytest.importorskip("psycopg", reason="psycopg is not installed")
    initdb, server = _program("initdb"), _program("postgres")
    if not (initdb and server):
        pytest.skip("PostgreSQL is not installed")
    try:
        user = pwd.getpwnam("postgres" if os.getuid() == 0 else getpass.getuser())
    except KeyError:
        pytest.skip("there is no user to run PostgreSQL")
    folder = Path(tempfile.mkdtemp(prefix="onetool-pg-", dir="/tmp"))
    os.chown(folder, user.pw_uid, user.pw_gid)
    as_user = (
        {"user": user.pw_uid, "group": user.pw_gid, "cwd": folder} if os.getuid() == 0 else {"cwd": folder}
    )
    data = folder / "data"
    setup = [initdb, "-D", data, "-U", "admin", "--auth=trust", "--no-sync", "-E", "UTF8", "--locale=C"]
    subprocess.run(setup, check=True, capture_output=True, **as_user)
    options = ["-D", data, "-k", folder, "-c", "listen_addresses=", "-F"]
    process = subprocess.Popen([server, *options], stderr=subprocess.DEVNULL, **as_user)
    try:
        yield _filled(f"postgresql://admin@/postgres?host={folder}", process)
    finally:
        process.terminate()
        process.wait(30)
        shutil.rmtree(folder, ignore_errors=True)


def _filled(url, process):
    import psycopg

    until = time.monotonic() + 30
    while True:
        try:
            with psycopg.connect(url) as connection:
                connection.execute(SCHEMA.format(bytes="BYTEA", blob="'\\x00ff'"))
            return url
        except psycopg.OperationalError:
            assert process.poll() is None
            assert time.monotonic() < until
            time.sleep(0.05)  # a server that starts tells nobody when it is ready


@pytest.fixture
async def pg(postgres):
    hidden = "postgresql://admin:pa%zzss@/postgres?host=/nowhere"
    secrets = {"SHOP": postgres, "BROKEN": hidden, "GONE": "postgresql://u:hunter2@127.0.0.1:1/x"}
    async with memory_runtime(secrets=secrets) as tools:
        yield tools


async def test_postgres_is_asked(pg):
    """The same questions, values as $1, and values of its own types as text."""
    result = await ask(
        pg, "SELECT name, price, photo FROM items WHERE price < $1 ORDER BY id", "SHOP", params=[8]
    )
    assert result.data == {
        "columns": ["name", "price", "photo"],
        "rows": [["ant", 2.5, "<2 bytes>"], ["bee", 7.5, None]],
        "more": False,
    }
    typed = "SELECT 1.10::numeric, date '2026-01-02', '{\"a\": 1}'::jsonb, '100%' LIKE '1%'"
    assert (await ask(pg, typed, "SHOP")).data["rows"] == [["1.10", "2026-01-02", "{'a': 1}", True]]
    many = (await ask(pg, "SELECT generate_series(1, 1000000000)", "SHOP", max_rows=3)).data
    assert many["rows"] == [[1], [2], [3]]
    assert many["more"]


async def test_the_schema_of_postgres(pg):
    """Tables with their schemas, columns with types, defaults and keys."""
    tables = (await pg.call("db.tables", database="SHOP")).data
    assert tables == [{"name": "public.cheap", "type": "view"}, {"name": "public.items", "type": "table"}]
    columns = (await pg.call("db.describe", table="public.items", database="SHOP")).data
    assert columns[0] == {"name": "id", "type": "integer", "nullable": False, "default": None, "key": True}
    assert columns[2]["default"] == "1.5"
    missing = await pg.call("db.describe", table="nothing", database="SHOP")
    assert 'relation "nothing" does not exist' in missing.error.message


async def test_nothing_is_written_to_postgres(pg):
    """Not by statements, nor behind a semicolon, nor inside of a WITH or a function."""
    for sql in (
        "DELETE FROM items",
        "SELECT 1; DELETE FROM items",
        "SELECT 1; COMMIT; DELETE FROM items",
        "WITH gone AS (DELETE FROM items RETURNING *) SELECT * FROM gone",
        "SELECT * FROM items FOR UPDATE",
        "SELECT set_config('transaction_read_only', 'off', false)",
        "SET TRANSACTION READ WRITE",
        "COPY items TO '/tmp/onetool-copied'",
        "COPY items TO PROGRAM 'touch /tmp/onetool-copied'",
        "DO $$ BEGIN DELETE FROM items; END $$",
        "CREATE TABLE t (a int)",
    ):
        assert not (await ask(pg, sql, "SHOP")).ok, sql
    assert db.READ_ONLY in (await ask(pg, "DELETE FROM items", "SHOP")).error.message
    assert (await ask(pg, "SELECT count(*) FROM items", "SHOP")).data["rows"] == [[3]]
    assert not Path("/tmp/onetool-copied").exists()
    await ask(pg, "SELECT lo_create(0)", "SHOP")  # some versions do not take this for a change
    assert (await ask(pg, "SELECT count(*) FROM pg_largeobject_metadata", "SHOP")).data["rows"] == [[0]]


async def test_a_long_query_of_postgres_is_stopped(pg):
    """The server itself gives up before the call does."""
    assert (await ask(pg, "SELECT 1", "SHOP")).ok
    result = await ask(hurried(pg), "SELECT pg_sleep(60)", "SHOP")
    assert "did not end in time" in result.error.message


async def test_no_message_shows_the_url(pg):
    """Neither a password nor a host is repeated when the database is not reached."""
    for name in ("BROKEN", "GONE"):
        result = await ask(pg, "SELECT 1", name)
        assert "cannot be reached" in result.error.message
        assert not any(word in repr(result) for word in ("zzss", "nowhere", "hunter2"))
