"""Blocking methods of stores as coroutines."""

import errno
import sqlite3
from collections.abc import Callable, Coroutine, Iterator
from contextlib import contextmanager
from typing import Any, Concatenate, ParamSpec, TypeVar

from onetool.domain.errors import StoreUnavailable
from onetool.threads import S, threaded

UNWRITABLE = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EROFS, errno.EACCES, errno.EPERM, errno.EIO})
"""Errors of a disk that is full, read-only, not the user's or broken."""
P = ParamSpec("P")
T = TypeVar("T")


def on_thread(
    method: Callable[Concatenate[S, P], T],
) -> Callable[Concatenate[S, P], Coroutine[Any, Any, T]]:
    """Make a blocking method of a store a coroutine that runs on the store's threads.

    Locks that other processes hold for too long, and files that cannot be used, raise StoreUnavailable.
    """
    return threaded(method, _file_errors)


@contextmanager
def _file_errors() -> Iterator[None]:
    try:
        yield
    except (sqlite3.OperationalError, TimeoutError) as error:
        raise StoreUnavailable(str(error)) from error
    except OSError as error:
        if error.errno not in UNWRITABLE:
            raise
        file = f"{error.filename}: " if error.filename else ""
        raise StoreUnavailable(f"{file}{error.strerror}") from error
