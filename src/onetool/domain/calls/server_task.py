"""The task with which a server continues a call after it has answered."""

from collections.abc import Mapping
from typing import Any, NamedTuple

LEFT = "left"
"""The message of a cancellation because the process ends, and another one will wait for the task."""


class ServerTask(NamedTuple):
    """A task of a server."""

    server: str
    id: str
    endpoint: str = ""
    """A digest of the server's URL, if another process can wait for the task in place of this one; empty if
    the server is a program of this process, or if more depends on the call than its result."""
    capabilities: Mapping[str, Any] = {}
    """What the task may ask its caller."""
