"""Requests that are repeated while something else happens, and how they ended."""

import threading
from collections import Counter
from collections.abc import Callable
from contextlib import suppress

import httpx2

from support.waiting import HANG_S


class RequestLoad:
    """Repeats requests on threads during the block, and counts their status codes.

    A request that got no response counts as 0.
    """

    def __init__(self, *requests: Callable[[], httpx2.Response]) -> None:
        self.statuses: Counter[int] = Counter()
        self._lock, self._is_over = threading.Condition(), threading.Event()
        self._threads = [threading.Thread(target=self._repeat, args=(request,)) for request in requests]

    def __enter__(self) -> "RequestLoad":
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._is_over.set()
        for thread in self._threads:
            thread.join()

    def wait_for(self, count: int) -> None:
        """Wait until so many more requests have ended."""
        with self._lock:
            end = self.statuses.total() + count
            assert self._lock.wait_for(lambda: self.statuses.total() >= end, HANG_S)

    def _repeat(self, request: Callable[[], httpx2.Response]) -> None:
        while not self._is_over.is_set():
            status = 0
            with suppress(httpx2.TransportError):
                status = request().status_code
            with self._lock:
                self.statuses[status] += 1
                self._lock.notify_all()
