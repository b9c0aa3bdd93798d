"""Where tools come from."""

from collections.abc import Callable, Collection, Hashable, Mapping, Sequence
from typing import Protocol

from onetool.domain.manifest import HeldBack, ServerState
from onetool.domain.paging import Page
from onetool.domain.tool import Tool


class ToolSource(Protocol):
    """Somewhere that tools come from. It is asked for a tool by name, never for everything."""

    @property
    def name(self) -> str:
        """How logs and health call this source."""
        ...

    def generation(self) -> Hashable:
        """A value that moves when the tools may have changed; cheap enough to ask before every call."""
        ...

    async def refresh(self) -> None:
        """Read again what `generation` said has moved; calls in flight keep the tools they have."""
        ...

    async def find(self, name: str, version: str | None = None) -> Tool | None:
        """Return the tool of this name, in this version or the active one; None where there is none."""
        ...

    async def page(self, cursor: str | None, limit: int) -> Page[Tool]:
        """Return up to `limit` tools from an opaque cursor on, in an order that stays."""
        ...

    async def packs(self) -> Collection[str]:
        """Return the names of all packs."""
        ...

    async def pack(self, name: str) -> Sequence[Tool]:
        """Return the tools of one pack."""
        ...

    async def count(self) -> int:
        """Return how many tools there are."""
        ...


class ServerSource(ToolSource, Protocol):
    """Another MCP server whose tools are offered here as a pack of its name."""

    is_remote: bool
    """True: asking may mean waiting for it to start."""

    @property
    def state(self) -> ServerState:
        """How far it is: configured, known from a listing, started, or failed."""
        ...

    @property
    def reason(self) -> str:
        """Why it has failed; nothing where it has not."""
        ...

    async def probe(self, patience: float | None = None) -> bool:
        """Connect if need be; return whether the server answers, within these seconds or a few."""
        ...

    async def held_back(self) -> Sequence[HeldBack]:
        """Return the tools that wait for approval."""
        ...

    async def approve(self, seen: Mapping[str, str]) -> None:
        """Let tools be used as somebody has seen them: the pin of each, by its name at the server.

        Raises ValueError for a tool that is not listed, or that has changed since it was looked at.
        """
        ...

    async def login(self, show: Callable[[str], None], open_browser: Callable[[str], bool]) -> None:
        """Let the user log in with a browser; what that brings is kept for later.

        Raises LoginFailed.
        """
        ...
