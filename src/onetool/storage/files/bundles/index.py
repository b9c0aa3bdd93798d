"""The SQLite index of stored bundles, derived from the files and rebuilt from them when necessary."""

import logging
import sqlite3
import threading
import weakref
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path

from onetool.files.corrupt_files import move_corrupt_file
from onetool.files.sqlite_files import connect_private

from .queries import IndexQueries

log = logging.getLogger(__name__)

TIMEOUT_S = 10.0
"""How long a writer waits for another process."""
SCHEMA_VERSION = 2
TABLES = """
create table bundles (
    id text primary key, base text not null, pack text not null, enabled integer not null,
    deleted integer not null, stamp text not null, body blob not null
) without rowid;
create index bundles_base on bundles (base);
create index bundles_pack on bundles (pack);
create table tools (
    number integer primary key, id text not null unique, bundle_id text not null, slug text not null,
    version text not null, func text not null, enabled integer not null, active integer not null,
    created_at text not null, modified_at text not null, slug_key text not null, name_key text not null,
    word_list text not null, stamp text not null, body blob not null, unique (bundle_id, slug, version)
);
create index tools_func on tools (bundle_id, func);
create index tools_slug on tools (slug);
create index tools_slug_key on tools (slug_key);
create index tools_name_key on tools (name_key);
create table tags (tag text not null, tool_id text not null, primary key (tag, tool_id)) without rowid;
"""
FULL_TEXT_TABLE = "create virtual table words using fts5 (text, tokenize='unicode61 remove_diacritics 0')"


class BundleIndex:
    """Opens one connection per transaction, so any thread or process may use the index.

    One idle connection stays open: when the last connection closes, SQLite checkpoints the write-ahead log,
    which costs as many syncs as writing the bundle files.
    """

    def __init__(self, file: Path, *, full_text: bool = True) -> None:
        self._file, self._full_text = file, full_text
        self._idle_lock = threading.Lock()
        self._close_idle: Callable[[], object] = _no_connection

    @contextmanager
    def open(self, *, writing: bool = False) -> Iterator["IndexQueries"]:
        """Open a transaction. A writing one takes the write lock at the start."""
        self._open_idle()
        with self._connect() as connection, connection:
            if writing:
                connection.execute("begin immediate")
            yield IndexQueries(connection, self._has_full_text(connection))

    def exists(self) -> bool:
        """Return whether the index file exists."""
        return self._file.exists()

    def ensure(self) -> bool:
        """Create missing tables. Return whether the index is new and must be filled."""
        try:
            return self._create_tables()
        except sqlite3.OperationalError:  # locked, or the disk is full: the file is intact
            raise
        except sqlite3.DatabaseError as error:
            self.close()
            log.error("moved corrupt file %s to %s: %s", self._file, move_corrupt_file(self._file), error)
            for suffix in ("-wal", "-shm"):
                Path(f"{self._file}{suffix}").unlink(missing_ok=True)
            return self._create_tables()

    def close(self) -> None:
        """Close the idle connection. The next transaction opens a new one."""
        with self._idle_lock:
            self._close_idle()
            self._close_idle = _no_connection

    def _create_tables(self) -> bool:
        with self._connect() as connection:
            connection.execute("pragma journal_mode = wal")
            connection.execute("begin immediate")
            is_new: bool = connection.execute("pragma user_version").fetchone()[0] != SCHEMA_VERSION
            if is_new:
                _drop_tables(connection)
                for statement in TABLES.split(";\n"):
                    connection.execute(statement)
                if self._full_text and _has_fts5(connection):
                    connection.execute(FULL_TEXT_TABLE)
                connection.execute(f"pragma user_version = {SCHEMA_VERSION}")
            connection.commit()
            return is_new

    def _open_idle(self) -> None:
        with self._idle_lock:
            if self._close_idle is _no_connection:
                idle = connect_private(self._file, TIMEOUT_S, check_same_thread=False)
                self._close_idle = weakref.finalize(self, idle.close)
                idle.execute("select 1 from sqlite_master").fetchone()  # SQLite opens the log on first use

    @contextmanager
    def _connect(self) -> Iterator[sqlite3.Connection]:
        with closing(connect_private(self._file, TIMEOUT_S)) as connection:
            connection.execute("pragma synchronous = normal")
            yield connection

    def _has_full_text(self, connection: sqlite3.Connection) -> bool:
        table = connection.execute("select 1 from sqlite_master where name = 'words'").fetchone()
        return self._full_text and table is not None


def _no_connection() -> None:
    """Close nothing: no idle connection is open."""


def _drop_tables(connection: sqlite3.Connection) -> None:
    for table in ("bundles", "tools", "tags", "words"):
        connection.execute(f"drop table if exists {table}")


def _has_fts5(connection: sqlite3.Connection) -> bool:
    return any(option == "ENABLE_FTS5" for (option,) in connection.execute("pragma compile_options"))
