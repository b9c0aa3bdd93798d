"""Turns for the scripted chat model."""

from typing import Any


def scripted_calls(*calls: tuple[str, dict[str, Any]]) -> dict[str, Any]:
    """Return a turn in which the model calls tools, each given as a name and arguments."""
    return {"calls": [{"name": name, "args": args} for name, args in calls]}
