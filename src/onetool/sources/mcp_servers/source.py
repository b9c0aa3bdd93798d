"""Another MCP server as a tool source: known from its last listing, started when needed."""

import asyncio
import logging
from collections.abc import Callable, Collection, Hashable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from onetool.domain.errors import LoginFailed
from onetool.domain.page import Page
from onetool.domain.secrets.credential_set import CredentialSet
from onetool.domain.servers.manifest import QuarantinedTool, ServerState, ToolAccess
from onetool.domain.tools.tool import CURRENT, Tool
from onetool.ports import ManifestStore, SourceCapabilities, SourceStatus, TokenStore
from onetool.settings.schema import ServerSettings
from onetool.settings.secrets import Secrets
from onetool.threads import Threads

from .calls import ServerCalls
from .connection import Connection
from .errors import ServerUnavailable
from .listing import LISTING_TIMEOUT_S, ServerListing
from .manifest_cache import ManifestCache
from .oauth.config import oauth_config_for
from .tool_factory import Scan, ToolFactory, no_findings

if TYPE_CHECKING:
    from .session import ServerSession


class McpServerSource:
    """A ServerSource: the tools of one server, as a pack with the server's name."""

    capabilities = SourceCapabilities(remote=True)

    def __init__(
        self,
        name: str,
        settings: ServerSettings,
        secrets: Secrets,
        *,
        manifest: ManifestStore,
        threads: Threads,
        scan: Scan = no_findings,
        tokens: TokenStore | None = None,
        allowed_hosts: Sequence[str] = (),
        credentials: CredentialSet | None = None,
    ) -> None:
        self.name = name
        self._credentials = credentials or CredentialSet()
        self._settings, self._secrets, self._threads = settings, secrets, threads
        self._oauth = oauth_config_for(
            name, settings, tokens, threads, allowed_hosts, credentials=self._credentials
        )
        self._log = logging.getLogger(f"onetool.servers.{name}")
        factory = ToolFactory(name, settings, scan, lambda tool: partial(self._calls.run, tool))
        self._manifests = ManifestCache(name, manifest, factory, threads)
        self._connection = Connection(self._open)
        self._calls = ServerCalls(name, self._connection, self._manifests)
        self._listing = ServerListing(
            self._connection,
            self._manifests,
            self._log,
            self._credentials,
            allow_new=settings.new_tools == "allow",
        )

    @property
    def state(self) -> ServerState:
        """Configured, idle (its tools are known from an earlier listing), connected or failed."""
        if self._connection.is_open:
            return "connected"
        if self._connection.failure:
            return "failed"
        return "configured" if self._manifests.manifest is None else "idle"

    def status(self) -> SourceStatus:
        """Return why the server cannot be used now, and whether it must start before its tools are known."""
        return SourceStatus(needs_start=self._manifests.manifest is None, reason=self._reason())

    def generation(self) -> Hashable:
        """Return a value that changes when any process stored a listing or an approval."""
        return self._manifests.generation()

    async def refresh(self) -> None:
        """Read the stored listing. Never starts the server."""
        await self._manifests.refresh()

    async def find(self, name: str, version: str | None = None) -> Tool | None:
        """Return the tool with this name; each has one version."""
        if name.partition(".")[0] != self.name or version not in (None, CURRENT):
            return None
        await self._listing.ensure_listed()
        return self._manifests.tools.registry.get(name)

    async def page(self, cursor: str | None, limit: int) -> Page[Tool]:
        """Return tools in the server's order."""
        await self._listing.ensure_listed()
        tools, start = self._manifests.tools.registry, int(cursor or 0)
        end = start + limit
        return Page(tools.slice(start, end), str(end) if end < len(tools) else None)

    async def packs(self) -> Collection[str]:
        """Return the server's name, which is known before its tools are."""
        return (self.name,)

    async def pack(self, name: str) -> Sequence[Tool]:
        """Return the tools of one pack."""
        if name != self.name:
            return ()
        await self._listing.ensure_listed()
        return self._manifests.tools.registry.list()

    async def count(self) -> int:
        """Return the number of tools."""
        await self._listing.ensure_listed()
        return len(self._manifests.tools.registry)

    async def probe(self, timeout_s: float | None = None) -> bool:
        """Connect if necessary and return whether the server responds in time."""
        limit = timeout_s or LISTING_TIMEOUT_S
        try:
            async with asyncio.timeout(limit):
                session = await self._connection.session(ignore_backoff=True)
                return await session.responds(limit)
        except (ServerUnavailable, TimeoutError):
            return False

    async def quarantined(self) -> list[QuarantinedTool]:
        """Return the tools that require approval, with their old and new definitions."""
        await self._manifests.ensure_fresh()
        return self._manifests.quarantined()

    async def access(self) -> Sequence[ToolAccess]:
        """Return which tools of the last listing are treated as read-only, and why."""
        await self._manifests.ensure_fresh()
        return self._manifests.tools.access

    async def approve(self, seen: Mapping[str, str]) -> None:
        """Approve definitions that the user reviewed: the hash of each, by the tool's name on the server.

        Raises:
            ValueError: A tool is not listed, or changed after the review.
        """
        await self._manifests.approve(seen)

    async def login(self, show: Callable[[str], None], open_browser: Callable[[str], bool]) -> None:
        """Let the user log in with a browser and store the tokens for all processes.

        Raises:
            LoginFailed: The server has no login, or the login did not complete.
        """
        if self._oauth is None:
            valid = "Logins need a url and no Authorization header."
            raise LoginFailed(f"Server {self.name!r} has no login. {valid}")
        log_in = await self._threads.run(_import_login)
        await log_in(self._oauth, show, open_browser)
        if self._connection.is_open:
            (await self._connection.current()).end("the user logged in again")
        await self.probe()

    async def close_when_idle(self) -> None:
        """Close when the calls in progress have finished; if cancelled, at once."""
        try:
            await self._calls.wait_until_idle()
        finally:
            await self.close()

    async def close(self) -> None:
        """Stop the server's program or connection and wait until it is gone."""
        self._listing.close()
        await self._connection.close()

    def _reason(self) -> str:
        if self._connection.opening is not None:
            return "it is still starting; try again in a moment"
        return self._credentials.redact(self._connection.failure)

    async def _open(self) -> "ServerSession":
        """Connect and read the current listing: nothing is called before that."""
        open_session = await self._threads.run(_import_session_factory)
        session: ServerSession = open_session(
            self._settings, self._secrets, self._log, self._listing.on_change, self._oauth
        )
        try:
            await session.start()
            await self._listing.read(session)
        except BaseException:
            await session.close()
            raise
        return session


def _import_session_factory() -> Any:
    """Import the MCP SDK on a thread: it takes a while to load."""
    from .session_factory import open_session

    return open_session


def _import_login() -> Any:
    from .oauth.browser_login import log_in

    return log_in
