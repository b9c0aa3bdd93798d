"""Ports of tool sources: where the catalog gets its tools from."""

from asyncio import StreamReader, StreamWriter
from collections.abc import Awaitable, Callable, Collection, Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol, runtime_checkable

from onetool.domain.calls.caller import Caller
from onetool.domain.health import ServerState
from onetool.domain.page import Page
from onetool.domain.servers.instructions import InstructionsReview
from onetool.domain.servers.manifest import QuarantinedTool, ToolAccess
from onetool.domain.servers.startup import StartReport
from onetool.domain.tools.tool import Tool

from .contents import ContentSource
from .search import ToolSearch
from .server_logins import ServerLogins


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceCapabilities:
    """Properties of a source that never change."""

    remote: bool = False
    """The tools belong to another server, which may have to start first."""
    overridable: bool = False
    """Its packs are hidden by packs of the same name from other sources."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceStatus:
    """The condition of a source at one moment."""

    needs_start: bool = False
    """The tools are unknown until a server has started."""
    reason: str = ""
    """Why the source cannot be used; empty if it can."""
    skipped: Mapping[str, str] = field(default_factory=dict)
    """Packs that were not loaded, by name, and why."""
    skipped_tools: Sequence[str] = ()
    """Tools that were not loaded: where each is defined, and why."""
    disabled_tools: Sequence[str] = ()
    """Tools that a mistake in the settings disables: the setting, and what is wrong."""
    warnings: Sequence[str] = ()
    """Settings that have no effect and parts of a listing that are ignored, and why."""


LOCAL = SourceCapabilities()
READY = SourceStatus()


class ToolSource(Protocol):
    """A provider of tools. It is asked for a tool by name or for a page, never for everything."""

    @property
    def name(self) -> str:
        """The name of this source in logs and in health."""
        ...

    @property
    def capabilities(self) -> SourceCapabilities:
        """What kind of source this is."""
        ...

    def status(self) -> SourceStatus:
        """Return the current condition, without I/O."""
        ...

    def generation(self) -> Hashable:
        """Return a value that changes whenever the tools may have changed.

        It is compared before every call, so it must be cheap: a value in memory or one stat.
        """
        ...

    async def refresh(self) -> None:
        """Read the tools again after `generation` changed. Calls in progress keep their tools."""
        ...

    async def find(self, name: str, version: str | None = None) -> Tool | None:
        """Return the tool with this name in this version, or in the active one; None if there is none."""
        ...

    async def page(self, cursor: str | None, limit: int) -> Page[Tool]:
        """Return up to `limit` tools after an opaque cursor, in a stable order."""
        ...

    async def packs(self) -> Collection[str]:
        """Return the names of all packs."""
        ...

    async def pack(self, name: str) -> Sequence[Tool]:
        """Return the tools of one pack."""
        ...

    async def count(self) -> int:
        """Return the number of tools."""
        ...


@runtime_checkable
class SearchableSource(ToolSource, ToolSearch, Protocol):
    """A source with so many tools that it answers queries itself. Other sources are read tool by tool."""

    async def matching(self, pattern: str, cursor: str | None, limit: int) -> Page[Tool]:
        """Return a page of the tools whose names contain a text, ignoring case."""
        ...

    async def named(self, names: Collection[str]) -> Sequence[Tool]:
        """Return those tools that exist, in any order."""
        ...


class ServerSource(ToolSource, Protocol):
    """Another MCP server, whose tools form a pack with the server's name."""

    @property
    def state(self) -> ServerState:
        """Configured, idle (its tools are known from an earlier listing), starting, connected or failed."""
        ...

    @property
    def has_login(self) -> bool:
        """Whether a user can log in with a browser."""
        ...

    @property
    def logins(self) -> ServerLogins | None:
        """The logins of members; None if there are none, whatever the settings say."""
        ...

    @property
    def contents(self) -> ContentSource:
        """Its resources, templates and prompts."""
        ...

    async def list_with_login(self, caller: Caller) -> None:
        """List the tools with the caller's own login, as those of all members.

        Raises:
            ExecutionError: The caller has no login, or the server is unavailable.
        """
        ...

    async def restrictions(self) -> str:
        """Return which restrictions its program has, in one line; empty if it has no program."""
        ...

    def last_start(self) -> StartReport:
        """Return what happened during the last start, or happens now."""
        ...

    async def probe(self, timeout_s: float | None = None) -> bool:
        """Connect if necessary and return whether the server responds in time."""
        ...

    async def relay(self, digest: str) -> Callable[[StreamReader, StreamWriter], Awaitable[None]]:
        """Return a function that serves another process of the user over a connection.

        digest: a hash of the settings that the other process has for the server.

        Raises:
            ExecutionError: The other process has different settings, or the server cannot be started.
        """
        ...

    async def quarantined(self) -> Sequence[QuarantinedTool]:
        """Return the tools that require approval."""
        ...

    async def access(self) -> Sequence[ToolAccess]:
        """Return which tools of the last listing are treated as read-only, and why."""
        ...

    async def approve(self, seen: Mapping[str, str]) -> None:
        """Approve definitions that the user reviewed: the hash of each, by the tool's name on the server.

        Raises:
            ValueError: A tool is not listed, or changed after the review.
        """
        ...

    async def instructions(self) -> InstructionsReview:
        """Return the instructions in use, and those of the last handshake if they require approval."""
        ...

    async def approve_instructions(self, pin: str) -> None:
        """Approve the instructions with this hash, which the user reviewed.

        Raises:
            ValueError: The server sent others after the review.
        """
        ...

    async def login(self, show: Callable[[str], None], open_browser: Callable[[str], bool]) -> None:
        """Let the user log in with a browser and store the tokens.

        Raises:
            LoginFailed: The login did not complete.
        """
        ...
