"""SDK calls of a pack that runs in a worker process: they are forwarded to the process of the runtime."""

from collections.abc import Mapping, Sequence
from contextvars import ContextVar
from typing import Any, Protocol


class SdkForwarder(Protocol):
    """Sends the SDK calls of one call to the runtime and returns what they return there. Thread-safe."""

    def call(self, name: str, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:
        """Run an SDK function in the runtime, and wait. Its exception is raised."""
        ...

    async def call_async(self, name: str, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:
        """Run an SDK coroutine in the runtime. Its exception is raised."""
        ...


FORWARDER: ContextVar[SdkForwarder | None] = ContextVar("onetool_forwarder", default=None)
"""The forwarder of the call in progress in a worker process; None in the process of the runtime."""
