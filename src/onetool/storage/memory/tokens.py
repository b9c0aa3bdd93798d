"""OAuth tokens of servers in memory."""

import threading
from collections import defaultdict
from collections.abc import Callable


class MemoryTokens:
    """Tokens as JSON text by server name, for the lifetime of the process."""

    def __init__(self) -> None:
        self._texts: dict[str, str] = {}
        self._locks: defaultdict[str, threading.Lock] = defaultdict(threading.Lock)

    def read(self, server: str) -> str | None:
        """Return the stored tokens of a server."""
        return self._texts.get(server)

    def change(self, server: str, change: Callable[[str | None], str | None]) -> str | None:
        """Replace the stored tokens with what `change` returns; None deletes them."""
        with self._locks[server]:
            after = change(self._texts.get(server))
            if after is None:
                self._texts.pop(server, None)
            else:
                self._texts[server] = after
        return after
