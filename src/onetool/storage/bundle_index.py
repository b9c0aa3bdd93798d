"""An index of stored bundles in SQLite: names, pages, words. Derived from the files, made anew from them."""

import logging
import sqlite3
import threading
import weakref
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path

from onetool.files.atomic import PRIVATE_DIR
from onetool.files.quarantine import set_aside

from .bundle_rows import Rows

log = logging.getLogger(__name__)

PATIENCE = 10.0
"""Seconds that a writer waits for another process."""
LAYOUT = 1
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
    created_at text not null,
    stamp text not null, body blob not null, unique (bundle_id, slug, version)
);
create index tools_func on tools (bundle_id, func);
create index tools_slug on tools (slug);
create table tags (tag text not null, tool_id text not null, primary key (tag, tool_id)) without rowid;
"""
WORDS = "create virtual table words using fts5 (text, tokenize='unicode61')"


class BundleIndex:
    """Rows beside the files; every method opens the file, so that any thread and process may call.

    One more connection is held and never used: when the last one of all is closed, SQLite empties its log
    into the file, and that takes as many syncs as the files themselves.
    """

    def __init__(self, file: Path, *, with_words: bool = True) -> None:
        self._file, self._with_words = file, with_words
        self._holding = threading.Lock()
        self._release: Callable[[], object] = _nothing_held

    @contextmanager
    def open(self, *, writing: bool = False) -> Iterator["Rows"]:
        """Open the index for one transaction; a writing one waits for its turn at once."""
        self._hold()
        with self._connected() as connection, connection:
            if writing:
                connection.execute("begin immediate")
            yield Rows(connection, self._has_words(connection))

    def exists(self) -> bool:
        """Whether there is a file at all."""
        return self._file.exists()

    def ensure(self) -> bool:
        """Make the tables where they are missing; return whether the index is empty and must be filled."""
        self._file.parent.mkdir(mode=PRIVATE_DIR, parents=True, exist_ok=True)
        try:
            return self._make()
        except sqlite3.OperationalError:  # busy, or the disk is full: the file itself is sound
            raise
        except sqlite3.DatabaseError as error:
            self._release()
            self._release = _nothing_held
            log.error("%s is damaged and set aside as %s: %s", self._file, set_aside(self._file), error)
            for rest in ("-wal", "-shm"):
                Path(f"{self._file}{rest}").unlink(missing_ok=True)
            return self._make()

    def _make(self) -> bool:
        with self._connected() as connection:
            connection.execute("pragma journal_mode = wal")
            connection.execute("begin immediate")
            is_new: bool = connection.execute("pragma user_version").fetchone()[0] != LAYOUT
            if is_new:
                _drop(connection)
                for statement in TABLES.split(";\n"):
                    connection.execute(statement)
                if self._with_words and _has_fts5(connection):
                    connection.execute(WORDS)
                connection.execute(f"pragma user_version = {LAYOUT}")
            connection.commit()
            return is_new

    def _hold(self) -> None:
        with self._holding:
            if self._release is _nothing_held:
                held = sqlite3.connect(self._file, timeout=PATIENCE, check_same_thread=False)
                self._release = weakref.finalize(self, held.close)
                held.execute("select 1 from sqlite_master").fetchone()  # only now is the log open

    @contextmanager
    def _connected(self) -> Iterator[sqlite3.Connection]:
        with closing(sqlite3.connect(self._file, timeout=PATIENCE)) as connection:
            connection.execute("pragma synchronous = normal")
            yield connection

    def _has_words(self, connection: sqlite3.Connection) -> bool:
        found = connection.execute("select 1 from sqlite_master where name = 'words'").fetchone()
        return self._with_words and found is not None


def _nothing_held() -> None:
    """Nothing is to be closed."""


def _drop(connection: sqlite3.Connection) -> None:
    for table in ("bundles", "tools", "tags", "words"):
        connection.execute(f"drop table if exists {table}")


def _has_fts5(connection: sqlite3.Connection) -> bool:
    return any(option == "ENABLE_FTS5" for (option,) in connection.execute("pragma compile_options"))
