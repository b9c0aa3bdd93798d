"""Stores of plain files: several processes at once, every write whole, readable by a person."""

import re
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import orjson

from onetool.domain.stored import Stored, describe
from onetool.files.atomic import write_atomic

HANDLE = re.compile(r"[0-9a-f]{12}")
REMEMBERED_S = 7 * 86_400.0
"""Seconds for which an expired result is still known to have been."""
SWEEP_EVERY = 60.0


class FlatFileResults:
    """A text file for each result, and beside it a small file that outlives it."""

    def __init__(self, folder: Path, ttl_s: float, now: Callable[[], float] = time.time) -> None:
        self._folder, self._ttl_s, self._now = folder, ttl_s, now
        self._swept_at = 0.0

    def put(self, text: str, tool: str) -> Stored:
        """Keep a text: first the text itself, then the file that says it is there."""
        self._sweep()
        stored = describe(text, tool, self._now(), self._ttl_s)
        write_atomic(self._text_file(stored.handle), text.encode("utf-8", "surrogatepass"))
        write_atomic(
            self._known_file(stored.handle), orjson.dumps(stored._asdict(), option=orjson.OPT_INDENT_2)
        )
        return stored

    def find(self, handle: str) -> Stored | None:
        """Return what is known of a handle; a damaged file knows nothing."""
        if not HANDLE.fullmatch(handle):
            return None
        try:
            return Stored(**orjson.loads(self._known_file(handle).read_bytes()))
        except (OSError, ValueError, TypeError):
            return None

    def text(self, handle: str) -> str | None:
        """Return the text while it lasts."""
        stored = self.find(handle)
        if stored is None or stored.expires_at <= self._now():
            return None
        try:
            return self._text_file(handle).read_bytes().decode("utf-8", "surrogatepass")
        except OSError:
            return None

    def _sweep(self) -> None:
        """Remove texts whose time is over, and in the end what was known of them."""
        now = self._now()
        if now - self._swept_at < SWEEP_EVERY:
            return
        self._swept_at = now
        for file in self._folder.glob("*.json"):
            stored = self.find(file.stem)
            if stored is None or stored.expires_at > now:
                continue
            self._text_file(stored.handle).unlink(missing_ok=True)
            if stored.expires_at + REMEMBERED_S < now:
                with suppress(OSError):
                    file.unlink()

    def _text_file(self, handle: str) -> Path:
        return self._folder / f"{handle}.txt"

    def _known_file(self, handle: str) -> Path:
        return self._folder / f"{handle}.json"
