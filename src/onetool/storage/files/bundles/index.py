"""The SQLite index of stored bundles, derived from the files and rebuilt from them when necessary."""

import logging
import sqlite3
import weakref
import zlib
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import NamedTuple

from onetool.domain.search.matching import contains
from onetool.files.corrupt_files import move_corrupt_file
from onetool.files.fingerprint import fingerprint
from onetool.files.sqlite_files import connect_private, naming_database, open_frozen

from . import term_queries
from .queries import IndexQueries

log = logging.getLogger(__name__)

TIMEOUT_S = 10.0
"""How long a writer waits for another process."""
MAX_IDLE = 4
"""How many idle connections stay open."""
SCHEMA_VERSION = 4
TABLES = f"""
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
    word_list text not null, term_list text not null, stamp text not null, body blob not null,
    unique (bundle_id, slug, version)
);
create index tools_func on tools (bundle_id, func, active, enabled);
create index tools_slug on tools (slug);
create index tools_slug_key on tools (slug_key);
create index tools_name_key on tools (name_key);
create table tags (tag text not null, tool_id text not null, primary key (tag, tool_id)) without rowid;
create table boots (id text not null);
{term_queries.TABLES}"""
FULL_TEXT_TABLES = (
    "create virtual table words using fts5"
    " (text, content='', columnsize=0, tokenize='unicode61 remove_diacritics 0')",
    *term_queries.FULL_TEXT_TABLES,
)
"""Without copies of the words and terms, which are in columns of the tools."""
FORMAT = zlib.crc32(f"{SCHEMA_VERSION} {term_queries.version()}".encode()) >> 1
"""The version that SQLite keeps: a signed number of 32 bits."""


class _IndexConnection(NamedTuple):
    """An open connection, and the file that it was opened for."""

    sqlite: sqlite3.Connection
    inode: int
    has_full_text: bool


class BundleIndex:
    """Keeps connections open between transactions. Any thread or process may use the index.

    Opening a connection costs more than a transaction. When the last connection of all processes closes,
    SQLite also checkpoints the write-ahead log, which costs as many syncs as writing a tool.
    """

    def __init__(self, file: Path, *, full_text: bool = True) -> None:
        self._file, self._path, self._full_text = file, str(file), full_text
        self._idle: list[_IndexConnection] = []
        weakref.finalize(self, _close_all, self._idle)

    @contextmanager
    def open(self, *, writing: bool = False) -> Iterator["IndexQueries"]:
        """Open a transaction. A writing one takes the write lock at the start."""
        with naming_database(self._file):
            connection = self._acquire()
            try:
                with connection.sqlite:
                    if writing:
                        connection.sqlite.execute("begin immediate")
                    yield IndexQueries(connection.sqlite, connection.has_full_text)
            except sqlite3.Error:
                connection.sqlite.close()
                raise
            except BaseException:
                self._release(connection)
                raise
            self._release(connection)

    @contextmanager
    def open_frozen(self) -> Iterator["IndexQueries"]:
        """Open the index for reading if it cannot be written. A file without tables is an empty index.

        Raises:
            sqlite3.OperationalError: The index is not complete, or another version wrote it.
        """
        if not self._file.exists() or not self._file.stat().st_size:
            with closing(sqlite3.connect(":memory:")) as connection:
                connection.executescript(TABLES)
                yield IndexQueries(connection, False)
            return
        with open_frozen(self._file) as connection:
            if connection.execute("pragma user_version").fetchone()[0] != FORMAT:
                raise sqlite3.OperationalError(f"{self._file} has another format and cannot be written")
            _add_functions(connection)
            yield IndexQueries(connection, self._uses_full_text(connection))

    def exists(self) -> bool:
        """Return whether the index file exists."""
        return self._inode() != 0

    def ensure(self) -> bool:
        """Create missing tables. Return whether the index is new and must be filled."""
        try:
            with naming_database(self._file):
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
        """Close the idle connections. The next transaction opens a new one."""
        _close_all(self._idle)

    def _create_tables(self) -> bool:
        with self._connect() as connection:
            connection.execute("pragma journal_mode = wal")
            connection.execute("begin immediate")
            is_new: bool = connection.execute("pragma user_version").fetchone()[0] != FORMAT
            if is_new:
                _drop_tables(connection)
                for statement in TABLES.split(";\n"):
                    connection.execute(statement)
                if self._full_text and _has_fts5(connection):
                    for statement in FULL_TEXT_TABLES:
                        connection.execute(statement)
                connection.execute(f"pragma user_version = {FORMAT}")
            connection.commit()
            return is_new

    def _acquire(self) -> _IndexConnection:
        """Return an idle connection, or open one. Closes those whose file was moved or deleted."""
        inode = self._inode()
        while self._idle:
            with suppress(IndexError):  # another thread was faster
                connection = self._idle.pop()
                if connection.inode == inode:
                    return connection
                connection.sqlite.close()
        while True:
            sqlite = connect_private(self._file, TIMEOUT_S, check_same_thread=False)
            try:
                sqlite.execute("pragma synchronous = normal")
                _add_functions(sqlite)
                connection = _IndexConnection(sqlite, inode, self._uses_full_text(sqlite))
                inode = self._inode()
            except BaseException:
                sqlite.close()
                raise
            if connection.inode == inode:
                return connection
            sqlite.close()  # it may be of a file that was deleted meanwhile

    def _release(self, connection: _IndexConnection) -> None:
        if len(self._idle) < MAX_IDLE:
            self._idle.append(connection)
        else:
            connection.sqlite.close()

    def _inode(self) -> int:
        state = fingerprint(self._path)
        return state[2] if state else 0

    @contextmanager
    def _connect(self) -> Iterator[sqlite3.Connection]:
        with closing(connect_private(self._file, TIMEOUT_S)) as connection:
            connection.execute("pragma synchronous = normal")
            yield connection

    def _uses_full_text(self, connection: sqlite3.Connection) -> bool:
        table = connection.execute("select 1 from sqlite_master where name = 'words'").fetchone()
        return self._full_text and table is not None


def _add_functions(connection: sqlite3.Connection) -> None:
    connection.create_function("contains", 2, contains, deterministic=True)


def _close_all(connections: list[_IndexConnection]) -> None:
    while connections:
        with suppress(IndexError):
            connections.pop().sqlite.close()


def _drop_tables(connection: sqlite3.Connection) -> None:
    for table in ("bundles", "tools", "tags", "boots", "words", *term_queries.NAMES):
        connection.execute(f"drop table if exists {table}")


def _has_fts5(connection: sqlite3.Connection) -> bool:
    return any(option == "ENABLE_FTS5" for (option,) in connection.execute("pragma compile_options"))
