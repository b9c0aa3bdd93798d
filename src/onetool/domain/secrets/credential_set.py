"""The credentials that OneTool uses, collected so that they can be redacted."""

import threading
from collections.abc import Iterable
from dataclasses import replace
from typing import Any

from .redaction import Redactor
from .secret import Secret

MAX_RECENT = 200
"""How many issued and derived credentials are redacted. The oldest are dropped: they have expired."""


class CredentialSet:
    """Values to redact: those of a process, or of one call in addition to those of its process.

    Thread-safe. No repr shows a value.
    """

    def __init__(self, base: "CredentialSet | None" = None) -> None:
        self._base, self._lock = base, threading.Lock()
        self._kept: dict[str, None] = {}
        self._recent: dict[str, None] = {}
        self._bound: dict[tuple[str, str], Secret] = {}
        self._redactors: dict[str, Redactor] = {}
        """Redactors of the kept and of the recent values. Created when they are needed."""

    def keep(self, values: Iterable[str]) -> None:
        """Redact configured values from now on."""
        added = dict.fromkeys(values)
        with self._lock:
            if not added.keys() <= self._kept.keys():
                self._kept |= added
                self._redactors.pop("kept", None)

    def add(self, *values: str) -> None:
        """Redact values that were issued to OneTool or derived from others. Only the latest are kept."""
        with self._lock:
            if all(value in self._recent or value in self._kept for value in values):
                return
            self._recent |= dict.fromkeys(values)
            while len(self._recent) > MAX_RECENT:
                del self._recent[next(iter(self._recent))]
            self._redactors.pop("recent", None)

    def bind(self, made: Secret) -> None:
        """Redact a value that was made from a secret, and note the hosts it may be sent to.

        made: has the name of that secret, and the value. Hosts of earlier calls with both are added.
        """
        self.add(made.value)
        with self._lock:
            before = self._bound.pop((made.name, made.value), made)
            hosts = dict.fromkeys((*(before.hosts or ()), *(made.hosts or ())))
            self._bound[made.name, made.value] = replace(made, hosts=tuple(hosts))
            while len(self._bound) > MAX_RECENT:
                del self._bound[next(iter(self._bound))]

    @property
    def bound(self) -> tuple[Secret, ...]:
        """The values that were made from secrets, with the hosts they may be sent to."""
        with self._lock:
            return tuple(self._bound.values())

    @property
    def values(self) -> tuple[str, ...]:
        """All values so far, without those of its process."""
        with self._lock:
            return (*self._kept, *self._recent)

    def redact(self, text: str) -> str:
        """Return the text with all values so far masked."""
        return self.redactor.redact(text)

    def mask(self, value: Any) -> Any:
        """Return a JSON value with all values so far masked."""
        return self.redactor.mask(value)

    @property
    def redactor(self) -> Redactor:
        """A redactor of all values so far."""
        if self._base is not None and not self._kept and not self._recent:
            return self._base.redactor
        with self._lock:
            if "kept" not in self._redactors:
                self._redactors["kept"] = Redactor(self._kept)
            if "recent" not in self._redactors:
                self._redactors["recent"] = Redactor(self._recent)
            own = self._redactors["kept"].joined(self._redactors["recent"])
        return own if self._base is None else self._base.redactor.joined(own)
