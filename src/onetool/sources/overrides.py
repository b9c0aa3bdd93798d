"""An MCP server whose tools the settings override: new names, texts, fixed arguments and defaults."""

import logging
from asyncio import StreamReader, StreamWriter
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import replace

from onetool.domain.calls.caller import Caller
from onetool.domain.health import ServerState
from onetool.domain.page import Page
from onetool.domain.secrets.credential_set import CredentialSet
from onetool.domain.servers.instructions import InstructionsReview
from onetool.domain.servers.manifest import QuarantinedTool, ToolAccess
from onetool.domain.servers.startup import StartReport
from onetool.domain.tools.tool import CURRENT, Tool
from onetool.ports import ContentSource, ServerLogins, SourceStatus
from onetool.settings.secrets import Secrets
from onetool.settings.server_schema import ServerSettings

from .mcp_servers import McpServerSource
from .mcp_servers.overridden_tools import OverriddenTools, ToolOverrides
from .mcp_servers.tool_factory import ServerTools
from .wrapper import SourceWrapper


class OverriddenServer(SourceWrapper):
    """A ServerSource. The wrapped server does not know the overrides, so pins and quarantine ignore them."""

    def __init__(
        self, server: McpServerSource, settings: ServerSettings, secrets: Secrets, credentials: CredentialSet
    ) -> None:
        super().__init__(server)
        self._server = server
        self._overrides = ToolOverrides(server.name, settings, secrets, credentials.redact)
        self._log = logging.getLogger(f"onetool.servers.{server.name}")
        self._original: ServerTools | None = None
        self._overridden = OverriddenTools(tools=ServerTools())

    @property
    def state(self) -> ServerState:
        """The state of the server."""
        return self._server.state

    @property
    def has_login(self) -> bool:
        """Whether a user can log in with a browser."""
        return self._server.has_login

    @property
    def logins(self) -> ServerLogins:
        """The logins of members."""
        return self._server.logins

    @property
    def contents(self) -> ContentSource:
        """The resources, templates and prompts of the server."""
        return self._server.contents

    def status(self) -> SourceStatus:
        """Return the condition of the server, and what is wrong with the overrides."""
        current, status = self._current(), super().status()
        warnings = [*status.warnings, *current.warnings]
        return replace(status, disabled_tools=current.problems, warnings=warnings)

    async def find(self, name: str, version: str | None = None) -> Tool | None:
        """Return the tool with this name; each has one version."""
        if name.partition(".")[0] != self.name or version not in (None, CURRENT):
            return None
        return (await self._listed()).registry.get(name)

    async def page(self, cursor: str | None, limit: int) -> Page[Tool]:
        """Return tools in the server's order."""
        return (await self._listed()).page(cursor, limit)

    async def pack(self, name: str) -> Sequence[Tool]:
        """Return the tools of one pack."""
        return (await self._listed()).registry.list() if name == self.name else ()

    async def count(self) -> int:
        """Return the number of tools."""
        return len((await self._listed()).registry)

    async def quarantined(self) -> list[QuarantinedTool]:
        """Return the tools that require approval, with their definitions on the server."""
        return await self._server.quarantined()

    async def access(self) -> Sequence[ToolAccess]:
        """Return which tools of the last listing are treated as read-only, and why."""
        await self._server.access()
        return self._current().tools.access

    async def approve(self, seen: Mapping[str, str]) -> None:
        """Approve definitions that the user reviewed, by the tool's name on the server."""
        await self._server.approve(seen)

    async def instructions(self) -> InstructionsReview:
        """Return the instructions of the server."""
        return await self._server.instructions()

    async def approve_instructions(self, pin: str) -> None:
        """Approve the instructions with this hash."""
        await self._server.approve_instructions(pin)

    async def restrictions(self) -> str:
        """Return which restrictions its program has."""
        return await self._server.restrictions()

    def last_start(self) -> StartReport:
        """Return what happened during the last start, or happens now."""
        return self._server.last_start()

    async def probe(self, timeout_s: float | None = None) -> bool:
        """Connect if necessary and return whether the server responds in time."""
        return await self._server.probe(timeout_s)

    async def list_with_login(self, caller: Caller) -> None:
        """List the tools with the caller's own login, as those of all members."""
        await self._server.list_with_login(caller)

    async def relay(self, digest: str) -> Callable[[StreamReader, StreamWriter], Awaitable[None]]:
        """Return a function that serves another process of the user, which has overrides of its own."""
        return await self._server.relay(digest)

    async def login(self, show: Callable[[str], None], open_browser: Callable[[str], bool]) -> None:
        """Let the user log in with a browser."""
        await self._server.login(show, open_browser)

    async def _listed(self) -> ServerTools:
        await self._server.listed()
        return self._current().tools

    def _current(self) -> OverriddenTools:
        """Return the tools of the last listing with the overrides, applied once for each listing."""
        if (original := self._server.known) is not self._original:
            before, self._original = self._overridden.problems, original
            self._overridden = self._overrides.apply(original)
            for problem in self._overridden.problems:
                if problem not in before:
                    self._log.warning("tool disabled: %s", problem)
        return self._overridden
