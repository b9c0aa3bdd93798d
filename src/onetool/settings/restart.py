"""Settings that a reload cannot change."""

from dataclasses import fields, is_dataclass
from typing import Any


def pending_restart(active: Any, new: Any, prefix: str = "") -> dict[str, Any]:
    """Compare two settings objects and return what only a restart applies: names, with the active values."""
    pending: dict[str, Any] = {}
    for field in fields(active):
        name, value, new_value = (
            f"{prefix}{field.name}",
            getattr(active, field.name),
            getattr(new, field.name),
        )
        if is_dataclass(value):
            pending |= pending_restart(value, new_value, f"{name}.")
        elif field.metadata.get("restart") and value != new_value:
            pending[name] = value
    return pending
