"""For whom a part of a result is: `annotations.audience` of the MCP protocol."""

from collections.abc import Mapping
from typing import Any, Literal, get_args

Reader = Literal["user", "assistant"]
READERS: frozenset[Reader] = frozenset(get_args(Reader))


def readers_of(annotations: Any) -> frozenset[Reader]:
    """Return the readers of a part with these annotations. Without a valid audience, they are all."""
    audience = annotations.get("audience") if isinstance(annotations, Mapping) else None
    named = frozenset(reader for reader in READERS if isinstance(audience, list) and reader in audience)
    return named or READERS
