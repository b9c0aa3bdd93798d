"""Port of what an MCP server offers besides tools."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol

from onetool.domain.calls.caller import Caller
from onetool.domain.content.resources import PromptContent, ResourceContent
from onetool.domain.servers.server_item import ItemKind, ListedItem


class ContentSource(Protocol):
    """Resources, resource templates and prompts of one MCP server, by their names on the server."""

    async def declared(self) -> Mapping[str, Any]:
        """Return the capabilities that the server declared."""
        ...

    async def items(self, kind: ItemKind, *, start: bool = True) -> Sequence[ListedItem]:
        """Return what the server lists of one kind, also quarantined items.

        start: start a server that was never listed, and ask a running one again.
        """
        ...

    async def read(self, uri: str, caller: Caller, deadline: float) -> ResourceContent:
        """Read a resource. Its content has namespaced URIs. The server may ask the caller.

        Raises:
            ExecutionError: The server is unavailable or refuses, or the resource is quarantined.
        """
        ...

    async def prompt(
        self, name: str, args: Mapping[str, str], caller: Caller, deadline: float
    ) -> PromptContent:
        """Return the messages of a prompt. They have namespaced URIs. The server may ask the caller.

        Raises:
            ExecutionError: The server is unavailable or refuses, or the prompt or its text is quarantined.
        """
        ...

    async def subscribe(self, uri: str, listener: Callable[[str], None]) -> None:
        """Call a listener with the URI whenever a resource was updated.

        Raises:
            ExecutionError: The server is unavailable or refuses, or the resource is quarantined.
        """
        ...

    async def unsubscribe(self, uri: str, listener: Callable[[str], None]) -> None:
        """Stop to call a listener."""
        ...

    async def set_log_level(self, level: str) -> None:
        """Tell a running server what to log; it may ignore that."""
        ...

    async def pass_on(self, method: str, params: Mapping[str, Any], deadline: float) -> Mapping[str, Any]:
        """Send any request to the server and return its result as received.

        Raises:
            ExecutionError: The server is unavailable or refuses.
        """
        ...

    async def complete(self, params: Mapping[str, Any]) -> Mapping[str, Any]:
        """Return the result of `completion/complete`; no values if there is no response in time."""
        ...
