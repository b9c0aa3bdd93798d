"""The db pack: read-only queries of SQLite files and a real PostgreSQL server."""

import os
import shutil
import sqlite3
import subprocess
import sys
from pathlib import Path
from urllib.parse import quote

import psycopg
import pytest

from onetool.files.installation import extra_command
from onetool.starter_packs import db
from onetool.testing import memory_runtime
from support.postgres import empty_database
from support.waiting import HANG_S

NUMBERS = "WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c)"
SCHEMA = """
CREATE TABLE items (id INTEGER PRIMARY KEY, name TEXT NOT NULL, price REAL DEFAULT 1.5, photo {bytes});
CREATE VIEW cheap AS SELECT name FROM items WHERE price < 5;
INSERT INTO items VALUES (1, 'ant', 2.5, {blob}), (2, 'bee', 7.5, NULL), (3, 'cat', 9, NULL);
"""


@pytest.fixture
def shop(tmp_path):
    """Return a directory that contains a database."""
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


async def query(ot, sql, database="shop.db", **args):
    return await ot.call("db.query", sql=sql, database=database, **args)


async def test_sqlite_query(ot):
    """Parameters are bound, rows are limited, and bytes are shown by their length."""
    result = await query(
        ot, "SELECT name, price, photo FROM items WHERE price < ? ORDER BY id", params=[8], max_rows=1
    )
    assert result.data == {
        "columns": ["name", "price", "photo"],
        "rows": [["ant", 2.5, "<2 bytes>"]],
        "more": True,
    }
    assert (await query(ot, "SELECT 1 WHERE 0")).data == {"columns": ["1"], "rows": [], "more": False}
    assert (await query(ot, "EXPLAIN QUERY PLAN SELECT * FROM items")).ok


async def test_sqlite_schema(ot):
    tables = (await ot.call("db.tables", database="shop.db")).data
    assert tables == [{"name": "cheap", "type": "view"}, {"name": "items", "type": "table"}]
    columns = (await ot.call("db.describe", table="items", database="shop.db")).data
    assert columns[0] == {"name": "id", "type": "INTEGER", "nullable": False, "default": None, "key": True}
    assert columns[2] == {"name": "price", "type": "REAL", "nullable": True, "default": "1.5", "key": False}
    missing = await ot.call("db.describe", table="x'; DROP TABLE items", database="shop.db")
    assert "not found. Use db.tables" in missing.error.message


async def test_sqlite_statements_cannot_write(ot, shop):
    """The file is unchanged, and no other file is created."""
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
        result = await query(ot, sql)
        assert db.READ_ONLY in result.error.message, sql
    schema = "UPDATE sqlite_master SET sql = ''"
    for sql in (
        schema,
        "SELECT 1; DELETE FROM items",
        "SELECT writefile('x', 'y')",
        "SELEC 1",
        "SELECT ?",
    ):
        assert not (await query(ot, sql)).data, sql
    assert (shop / "shop.db").read_bytes() == before
    assert [path.name for path in shop.iterdir()] == ["shop.db"]


@pytest.fixture
def one_second_queries(monkeypatch):
    """Reserve all but one second of the time limit of a call for returning the error."""
    monkeypatch.setattr(db, "RESERVE_S", 19.0)


async def test_endless_sqlite_query_times_out(ot, one_second_queries):
    """The query stops before the deadline of the call; the call itself would report another error."""
    result = await query(ot, f"{NUMBERS} SELECT count(*) FROM c")
    assert db.TOO_LONG in result.error.message


async def test_results_are_limited(ot):
    """Long values are truncated, the total size is limited, and huge values are errors."""
    long = (await query(ot, "SELECT printf('%.*c', 20000, 'x')")).data["rows"][0][0]
    assert long == "x" * 10_000 + "... (20000 characters)"
    data = (await query(ot, f"{NUMBERS} SELECT printf('%.*c', 20000, 'x') FROM c", max_rows=10**9)).data
    assert data["more"]
    assert len(data["rows"]) < 110
    assert "too big" in (await query(ot, "SELECT zeroblob(100000000)")).error.message
    # an exponential match would not end before the time limit of the call
    data = (await query(ot, "SELECT printf('%.*c', 100000, 'a') LIKE ?", params=["%a" * 20 + "%b"])).data
    assert data["rows"] == [[0]]


async def test_unusual_values(ot, shop):
    """Numbers beyond 64 bits, lists, and text that is not UTF-8."""
    with sqlite3.connect(shop / "shop.db") as connection:
        connection.execute("INSERT INTO items (id, name) VALUES (9, CAST(x'61ff' AS TEXT))")
    connection.close()
    assert (await query(ot, "SELECT name FROM items WHERE id = 9")).data["rows"] == [["a\ufffd"]]
    assert "too large" in (await query(ot, "SELECT ?", params=[2**70])).error.message
    assert "SQLite error" in (await query(ot, "SELECT ?", params=[[1]])).error.message


async def test_full_text_search_in_a_database_with_a_write_ahead_log(ot, shop):
    writer = sqlite3.connect(shop / "live.db")
    writer.executescript("PRAGMA journal_mode = WAL; CREATE VIRTUAL TABLE notes USING fts5(text);")
    writer.execute("INSERT INTO notes VALUES ('the quick fox')")
    writer.commit()
    result = await query(ot, "SELECT text FROM notes WHERE notes MATCH ?", "live.db", params=["quick"])
    writer.close()
    assert result.data["rows"] == [["the quick fox"]]


async def test_only_allowed_sqlite_files_are_opened(ot, shop):
    """This holds for paths, symbolic links and URI parameters. Other files are rejected by type."""
    outside = shop.parent / "outside.db"
    shutil.copy(shop / "shop.db", outside)
    (shop / "link.db").symlink_to(outside)
    (shop / "dir").symlink_to(shop.parent)
    (shop / "text.db").write_text("this is not a database")
    os.mkfifo(shop / "pipe.db")
    for path in (
        "../outside.db",
        str(outside),
        "link.db",
        "dir/outside.db",
        ":memory:?mode=rwc",
        "file:shop.db?mode=rw",
    ):
        assert not (await query(ot, "SELECT * FROM items", path)).ok, path
    assert "is not a SQLite database" in (await query(ot, "SELECT 1", "text.db")).error.message
    assert "is not a regular file" in (await query(ot, "SELECT 1", "pipe.db")).error.message
    (shop / "odd ?mode=rwc#%41.db").write_bytes(outside.read_bytes())
    assert (await query(ot, "SELECT count(*) FROM items", "odd ?mode=rwc#%41.db")).data["rows"] == [[3]]
    assert not (shop / "odd").exists()


WITHOUT_LANDLOCK = """
import asyncio, json, sys
from pathlib import Path
from onetool.linux import landlock, privileges, seccomp
from onetool.testing import memory_runtime

async def main():
    async with memory_runtime(cwd=Path(sys.argv[1])) as ot:
        for name in sys.argv[2:]:
            result = await ot.call("db.query", sql="SELECT count(*) FROM items", database=name)
            print(result.data["rows"][0][0] if result.ok else result.error.message)

privileges.deny_new_privileges()
rule = seccomp.on_call("landlock_create_ruleset", seccomp.UNKNOWN)
seccomp.install(seccomp.build_filter(rule))
assert landlock.version() == 0
asyncio.run(main())
"""


@pytest.mark.linux
def test_database_is_read_from_a_copy_where_the_kernel_cannot_restrict_a_thread(shop):
    """Changes that are only in the log of a program that runs are refused, not left out."""
    shutil.copy(shop / "shop.db", shop / "closed.db")
    shutil.copy(shop / "shop.db", shop / "live.db")
    (shop / "empty.db").touch()
    live = sqlite3.connect(shop / "live.db", isolation_level=None)
    for connection in (live, sqlite3.connect(shop / "closed.db", isolation_level=None)):
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute("INSERT INTO items (id, name) VALUES (9, 'new')")
    connection.close()
    command = [sys.executable, "-c", WITHOUT_LANDLOCK, str(shop)]
    names = ["shop.db", "closed.db", "live.db", "empty.db"]
    done = subprocess.run([*command, *names], capture_output=True, text=True, timeout=HANG_S, check=False)
    live.close()
    assert done.returncode == 0, done.stderr
    plain, closed, in_use, empty = done.stdout.splitlines()
    assert (plain, closed) == ("3", "4")
    assert "Close the program that uses it." in in_use
    assert "no such table" in empty


async def test_database_with_a_log_of_no_program_is_read_without_creating_files(ot, shop):
    shutil.copy(shop / "shop.db", shop / "closed.db")
    connection = sqlite3.connect(shop / "closed.db", isolation_level=None)
    connection.execute("PRAGMA journal_mode = WAL")
    connection.close()
    before = sorted(path.name for path in shop.iterdir())
    assert (await query(ot, "SELECT count(*) FROM items", "closed.db")).data["rows"] == [[3]]
    assert sorted(path.name for path in shop.iterdir()) == before


async def test_secret_that_is_not_a_database_url_is_not_revealed(ot):
    result = await query(ot, "SELECT 1", "KEY")
    assert result.error.message == "ValueError: The secret 'KEY' does not hold a postgresql:// URL."


async def test_missing_psycopg_names_the_extra(monkeypatch):
    monkeypatch.setitem(sys.modules, "psycopg", None)
    async with memory_runtime(secrets={"SHOP": "postgresql://u@127.0.0.1:1/x"}) as ot:
        result = await query(ot, "SELECT 1", "SHOP")
        assert f"Install it with: {extra_command('postgres')}" in result.error.message
        (need, *_) = (await ot.call("ot.check", tool="db")).data
        assert need["install"].startswith(extra_command("postgres"))


@pytest.fixture(scope="module")
def shop_url():
    """Return the URL of a PostgreSQL database with the tables of the shop."""
    with empty_database() as url:
        with psycopg.connect(url) as connection:
            connection.execute(SCHEMA.format(bytes="BYTEA", blob="'\\x00ff'"))
        parameters = psycopg.conninfo.conninfo_to_dict(url)
        host, name = quote(parameters.get("host", ""), safe=""), parameters["dbname"]
        login = ":".join(quote(parameters[key], safe="") for key in ("user", "password") if key in parameters)
        yield f"postgresql://{login}@/{name}?host={host}&port={parameters.get('port', 5432)}"


@pytest.fixture
async def pg(shop_url):
    hidden = "postgresql://admin:pa%zzss@/postgres?host=/nowhere"
    secrets = {"SHOP": shop_url, "BROKEN": hidden, "GONE": "postgresql://u:hunter2@127.0.0.1:1/x"}
    async with memory_runtime(secrets=secrets) as tools:
        yield tools


async def test_postgres_query(pg):
    """Placeholders are $1; values of PostgreSQL types are text."""
    result = await query(
        pg, "SELECT name, price, photo FROM items WHERE price < $1 ORDER BY id", "SHOP", params=[8]
    )
    assert result.data == {
        "columns": ["name", "price", "photo"],
        "rows": [["ant", 2.5, "<2 bytes>"], ["bee", 7.5, None]],
        "more": False,
    }
    typed = "SELECT 1.10::numeric, date '2026-01-02', '{\"a\": 1}'::jsonb, '100%' LIKE '1%'"
    assert (await query(pg, typed, "SHOP")).data["rows"] == [["1.10", "2026-01-02", "{'a': 1}", True]]
    many = (await query(pg, "SELECT generate_series(1, 1000000000)", "SHOP", max_rows=3)).data
    assert many["rows"] == [[1], [2], [3]]
    assert many["more"]


async def test_postgres_schema(pg):
    tables = (await pg.call("db.tables", database="SHOP")).data
    assert tables == [{"name": "public.cheap", "type": "view"}, {"name": "public.items", "type": "table"}]
    columns = (await pg.call("db.describe", table="public.items", database="SHOP")).data
    assert columns[0] == {"name": "id", "type": "integer", "nullable": False, "default": None, "key": True}
    assert columns[2]["default"] == "1.5"
    missing = await pg.call("db.describe", table="nothing", database="SHOP")
    assert 'relation "nothing" does not exist' in missing.error.message


async def test_postgres_statements_cannot_write(pg):
    """This includes statements after a semicolon, in WITH, and in functions."""
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
        assert not (await query(pg, sql, "SHOP")).ok, sql
    assert db.READ_ONLY in (await query(pg, "DELETE FROM items", "SHOP")).error.message
    assert (await query(pg, "SELECT count(*) FROM items", "SHOP")).data["rows"] == [[3]]
    assert not Path("/tmp/onetool-copied").exists()
    await query(pg, "SELECT lo_create(0)", "SHOP")  # some versions do not count this as a write
    assert (await query(pg, "SELECT count(*) FROM pg_largeobject_metadata", "SHOP")).data["rows"] == [[0]]


async def test_long_postgres_query_times_out(pg, one_second_queries):
    """The server cancels the query before the deadline of the call."""
    result = await query(pg, "SELECT pg_sleep(3600)", "SHOP")
    assert db.TOO_LONG in result.error.message


async def test_connection_errors_do_not_reveal_the_url(pg):
    for name in ("BROKEN", "GONE"):
        result = await query(pg, "SELECT 1", name)
        assert "Cannot connect to the database" in result.error.message
        assert not any(word in repr(result) for word in ("zzss", "nowhere", "hunter2"))
