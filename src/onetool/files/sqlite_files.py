"""SQLite files that only the user can read."""

import sqlite3
from pathlib import Path

from .atomic import write_new


def connect_private(file: Path, timeout_s: float, *, check_same_thread: bool = True) -> sqlite3.Connection:
    """Open a SQLite file. SQLite gives its log files the permissions of the file.

    A missing file is created under another name first: closing a descriptor of an open database would release
    the locks of its connections in this process.
    """
    if not file.exists():
        write_new(file, b"")
    return sqlite3.connect(file, timeout=timeout_s, check_same_thread=check_same_thread)
