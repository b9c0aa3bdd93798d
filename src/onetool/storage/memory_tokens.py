"""What logging in to servers has brought, kept for the life of the process."""

import threading
from collections import defaultdict
from collections.abc import Callable


class MemoryTokens:
    """Texts by the names of their servers."""

    def __init__(self) -> None:
        self._texts: dict[str, str] = {}
        self._locks: defaultdict[str, threading.Lock] = defaultdict(threading.Lock)

    def read(self, server: str) -> str | None:
        """Return what is kept of a server."""
        return self._texts.get(server)

    def change(self, server: str, change: Callable[[str | None], str | None]) -> str | None:
        """Replace what is kept by what the function makes of it, None for nothing."""
        with self._locks[server]:
            after = change(self._texts.get(server))
            if after is None:
                self._texts.pop(server, None)
            else:
                self._texts[server] = after
        return after
