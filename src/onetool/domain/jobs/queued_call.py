"""A call that waits for a worker."""

import json
from collections.abc import Mapping
from typing import Any, NamedTuple


class QueuedCall(NamedTuple):
    """What a worker needs to make a call, besides its principal."""

    tool: str
    args: Mapping[str, Any]
    can_ask: bool = False
    """Whether the user can be asked during the call."""
    profile: str = ""
    """The profile in the settings that restricts the caller."""
    patterns: tuple[str, ...] = ()
    """The tools to which the API key is limited; empty: it is not."""
    key: str = ""
    """The id of the API key that started it; empty: a person who has logged in has."""

    def to_text(self) -> str:
        """Return it as JSON in ASCII."""
        return json.dumps(self._asdict())

    @staticmethod
    def from_text(text: str) -> "QueuedCall":
        """Return the call of `to_text`."""
        fields = json.loads(text)
        return QueuedCall(**(fields | {"patterns": tuple(fields.get("patterns", ()))}))
