"""SQLite files that several processes use, or that cannot be written."""

import shutil
import sqlite3
from contextlib import closing

import pytest

from onetool.files.sqlite_files import SqliteFile, connect_private, open_frozen

TABLE = "create table if not exists numbers (n integer)"


def test_new_file_can_be_read_and_written_at_the_same_time(tmp_path):
    """Several processes may open it first."""
    path = tmp_path / "a.sqlite3"
    with closing(connect_private(path, 1)) as reader:
        reader.execute("begin")
        assert reader.execute("select * from sqlite_master").fetchall() == []
        SqliteFile(path, TABLE, 1).run(lambda writer: writer.execute("insert into numbers values (1)"))
        reader.rollback()
        assert reader.execute("select n from numbers").fetchall() == [(1,)]


def test_frozen_file_without_its_last_changes_is_not_read(tmp_path):
    """They may be what disables a tool."""
    file, copy = tmp_path / "a.sqlite3", tmp_path / "copy.sqlite3"
    with closing(sqlite3.connect(file)) as connection:
        connection.execute("pragma journal_mode = wal")
        connection.execute(TABLE)
        connection.commit()
        for suffix in ("", "-wal"):
            shutil.copy(f"{file}{suffix}", f"{copy}{suffix}")
        with (
            pytest.raises(sqlite3.OperationalError, match="its last changes cannot be read"),
            open_frozen(copy),
        ):
            pass


def test_corrupt_frozen_file_is_not_moved(tmp_path):
    """Another process may be writing it."""
    file = tmp_path / "a.sqlite3"
    file.write_bytes(b"x" * 5000)
    with (
        pytest.raises(sqlite3.OperationalError, match=r"a\.sqlite3: file is not"),
        open_frozen(file) as connection,
    ):
        connection.execute("select 1 from sqlite_master")
    assert list(tmp_path.iterdir()) == [file]


def test_error_names_the_file(tmp_path):
    file = SqliteFile(tmp_path / "a.sqlite3", TABLE, 1)
    with pytest.raises(sqlite3.OperationalError, match=r"a\.sqlite3: no such table: missing"):
        file.run(lambda connection: connection.execute("select * from missing"))
