"""Blocking methods of stores as coroutines."""

import errno
import sqlite3
from collections.abc import Callable, Coroutine
from functools import partial, wraps
from typing import Any, Concatenate, ParamSpec, Protocol, TypeVar

from onetool.domain.errors import StoreUnavailable
from onetool.threads import Threads

UNWRITABLE = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EROFS, errno.EACCES, errno.EPERM, errno.EIO})
"""Errors of a disk that is full, read-only, not the user's or broken."""


class _HasThreads(Protocol):
    _threads: Threads


S = TypeVar("S", bound=_HasThreads)
P = ParamSpec("P")
T = TypeVar("T")


def on_thread(
    method: Callable[Concatenate[S, P], T],
) -> Callable[Concatenate[S, P], Coroutine[Any, Any, T]]:
    """Make a blocking method of a store a coroutine that runs on the store's threads.

    Locks that other processes hold for too long, and files that cannot be used, raise StoreUnavailable.
    """

    @wraps(method)
    async def run(self: S, /, *args: P.args, **kwargs: P.kwargs) -> T:
        try:
            return await self._threads.run(partial(method, self, *args, **kwargs))
        except (sqlite3.OperationalError, TimeoutError) as error:
            raise StoreUnavailable(str(error)) from error
        except OSError as error:
            if error.errno not in UNWRITABLE:
                raise
            file = f"{error.filename}: " if error.filename else ""
            raise StoreUnavailable(f"{file}{error.strerror}") from error

    return run
