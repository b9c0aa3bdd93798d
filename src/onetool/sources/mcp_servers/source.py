"""Another MCP server as a tool source: known from its last listing, started when needed."""

import asyncio
import logging
from asyncio import StreamReader, StreamWriter
from collections.abc import (
    AsyncIterator,
    Awaitable,
    Callable,
    Collection,
    Hashable,
    Mapping,
    Sequence,
)
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from onetool.domain.calls.caller import Caller
from onetool.domain.errors import ExecutionError, LoginFailed, Reason
from onetool.domain.health import ServerState
from onetool.domain.page import Page
from onetool.domain.secrets.credential_set import CredentialSet
from onetool.domain.servers.instructions import InstructionsReview
from onetool.domain.servers.manifest import QuarantinedTool, ToolAccess
from onetool.domain.servers.startup import StartReport
from onetool.domain.text.json_text import encode
from onetool.domain.text.strings import truncate_middle
from onetool.domain.tools.tool import CURRENT, Tool
from onetool.ports import ManifestStore, MemberTokens, SourceCapabilities, SourceStatus, TokenStore
from onetool.settings.secrets import Secrets
from onetool.settings.server_schema import ServerSettings
from onetool.threads import Threads

from .calls import ServerCalls
from .contents import ServerContents
from .endpoint import ServerEndpoint
from .errors import ServerUnavailable
from .listing import LISTING_TIMEOUT_S, ServerListing
from .manifest_cache import ManifestCache
from .member_logins import WORKSPACE, MemberLogins
from .member_sessions import MemberAccess, MemberSessions
from .oauth.config import oauth_config_for
from .questions import CallQuestions, declared_first
from .session_opener import SessionOpener
from .session_tools import SessionTools
from .sessions import ServerSessions
from .tool_factory import Scan, ServerTools, ToolFactory, no_findings

if TYPE_CHECKING:
    from .session import ServerSession
    from .transport.startup import Startup


AttachServer = Callable[[str, str], Awaitable[tuple[StreamReader, StreamWriter] | None]]
Relay = Callable[[StreamReader, StreamWriter], Awaitable[None]]


MAX_LOGGED_LENGTH = 2_000
OTHER_LEVELS = {"notice": logging.INFO, "alert": logging.CRITICAL, "emergency": logging.CRITICAL}
"""Levels of the protocol that Python does not have."""
LIST_NOTICES = tuple(f"notifications/{kind}/list_changed" for kind in ("tools", "resources", "prompts"))


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
        home: Path,
        protected: tuple[Path, ...] = (),
        is_patient: bool = False,
        asks_users: bool = False,
        attach: AttachServer | None = None,
        scan: Scan = no_findings,
        tokens: TokenStore | None = None,
        member_tokens: MemberTokens | None = None,
        login_page: str = "",
        allowed_hosts: Sequence[str] = (),
        credentials: CredentialSet | None = None,
    ) -> None:
        """Create the source. Nothing starts yet.

        member_tokens: the logins of single members; None if OneTool has one user, whose are all credentials.
        login_page: the URL of the page on which members log in.
        home: the server's own directory, if it has a command.
        protected: directories of OneTool that the program of the server must not see.
        attach: connects to a server that another process of the user runs, by its name and digest.
        asks_users: whether callers of this process can usually be asked, so that no second session is needed.
        is_patient: whether a listing waits until the server has started, however long its first start takes.
        """
        self.name, self.home, self._protected = name, home, protected
        self._credentials = credentials or CredentialSet()
        self._settings, self._secrets, self._threads = settings, secrets, threads
        self._startup: Startup | None = None
        self._oauth = oauth_config_for(
            name, settings, tokens, threads, allowed_hosts, credentials=self._credentials, page=login_page
        )
        self._log = logging.getLogger(f"onetool.servers.{name}")
        self._opener = SessionOpener(
            name,
            settings,
            self._log,
            threads=threads,
            home=home,
            protected=protected,
            attach=partial(attach, name) if attach else None,
        )
        factory = ToolFactory(name, settings, scan, lambda tool: partial(self._calls.run, tool))
        self._manifests = ManifestCache(name, manifest, factory, threads)
        self._declared_first = declared_first(settings) if asks_users else {}
        self._connection = ServerSessions(self._open, self._declared_first)
        self.logins = MemberLogins(
            name, settings, self._oauth, member_tokens, login_page, credentials=self._credentials
        )
        """The logins of members, and whose are used for a call."""
        self._shared_login = ""
        """What identifies the login with which the session of the workspace was opened; empty: none."""
        self._members = MemberSessions(self.logins.access_of, self._member_sessions)
        self._calls = ServerCalls(
            name,
            self._sessions_of,
            self._manifests,
            self._questions,
            ServerEndpoint(settings, secrets, factory.endpoint),
        )
        self._listing = ServerListing(
            self._connection,
            self._manifests,
            self._log,
            self._credentials,
            allow_new=settings.new_tools == "allow",
            timeout_s=None if is_patient else LISTING_TIMEOUT_S,
        )
        self.contents = ServerContents(
            name,
            self._manifests,
            self._listing,
            self._calls,
            factory.find,
            is_personal=self.logins.are_personal,
        )
        """Its resources, templates and prompts."""

    @property
    def state(self) -> ServerState:
        """Configured, idle (its tools are known from an earlier listing), starting, connected or failed."""
        if self._connection.is_open:
            return "connected"
        if self._connection.opening is not None:
            return "starting"
        if self._connection.failure:
            return "failed"
        return "configured" if self._manifests.manifest is None else "idle"

    def status(self) -> SourceStatus:
        """Return why the server or a part of its listing cannot be used, and whether it must start first."""
        is_unknown, ignored = self._manifests.manifest is None, self._listing.warnings
        return SourceStatus(needs_start=is_unknown, reason=self._reason(), warnings=ignored)

    @property
    def has_login(self) -> bool:
        """Whether a user can log in with a browser."""
        return self._oauth is not None

    async def restrictions(self) -> str:
        """Return which restrictions its program has, in one line; empty for a server with a URL."""
        if self._settings.url is not None:
            return ""
        return await self._threads.run(_describe_restrictions, self._settings, self.home)

    def last_start(self) -> StartReport:
        """Return what happened during the last start, or happens now."""
        return StartReport() if self._startup is None else self._startup.report()

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
        return (await self.listed()).registry.get(name)

    async def page(self, cursor: str | None, limit: int) -> Page[Tool]:
        """Return tools in the server's order."""
        return (await self.listed()).page(cursor, limit)

    async def packs(self) -> Collection[str]:
        """Return the server's name, which is known before its tools are."""
        return (self.name,)

    async def pack(self, name: str) -> Sequence[Tool]:
        """Return the tools of one pack."""
        return (await self.listed()).registry.list() if name == self.name else ()

    async def count(self) -> int:
        """Return the number of tools."""
        return len((await self.listed()).registry)

    @property
    def known(self) -> ServerTools:
        """The tools of the last listing."""
        return self._manifests.tools

    async def listed(self) -> ServerTools:
        """Return the tools. Starts a server whose tools are unknown."""
        await self._listing.ensure_listed()
        return self.known

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
        return self.known.access

    async def approve(self, seen: Mapping[str, str]) -> None:
        """Approve definitions that the user reviewed: the hash of each, by the tool's name on the server."""
        await self._manifests.approve(seen)

    async def instructions(self) -> InstructionsReview:
        """Return the instructions in use, and those of the last handshake if they require approval."""
        await self._manifests.ensure_fresh()
        return self.known.instructions

    async def approve_instructions(self, pin: str) -> None:
        """Approve the instructions with this hash, which the user reviewed."""
        await self._manifests.approve_instructions(pin)

    async def login(self, show: Callable[[str], None], open_browser: Callable[[str], bool]) -> None:
        """Let the user log in with a browser and store the tokens for all processes.

        Raises:
            LoginFailed: The server has no login, or the login did not complete.
        """
        if self.logins.are_kept:
            raise LoginFailed(f"Log in to server {self.name!r} on the page Connections of the web UI.")
        if self._oauth is None:
            valid = "Logins need a url and no Authorization header."
            raise LoginFailed(f"Server {self.name!r} has no login. {valid}")
        log_in = await self._threads.run(_import_login)
        await log_in(self._oauth, show, open_browser)
        if self._connection.is_open:
            (await self._connection.current()).end("the user logged in again")
        await self.probe()

    async def list_with_login(self, caller: Caller) -> None:
        """List the tools with the caller's own login, as those of all members.

        What else the server has is not listed: resources of one member are not those of others.

        Raises:
            ExecutionError: The caller has no login, or the server is unavailable.
        """
        async with self._sessions_of(caller) as sessions:
            try:
                session = await sessions.session()
                if session.own_credentials is None:
                    await self._listing.read(session)
                else:
                    listed = await SessionTools(self.name, session, session.own_credentials).read()
                    await self._listing.store(list(listed.values()))
            except ServerUnavailable as error:
                message = f"Server {self.name!r} is unavailable: {error}."
                raise ExecutionError(Reason.UPSTREAM, message) from error

    async def relay(self, digest: str) -> Relay:
        """Return a function that serves another process of the user, whose server has this digest.

        Raises:
            ExecutionError: Its server has other settings, or cannot be started.
        """
        relay, make_program = await self._threads.run(_import_relay)
        try:
            if make_program(self._settings, self._secrets, self.home, self._protected).digest != digest:
                raise ServerUnavailable("its settings or secrets differ")
            return partial(relay, await self._connection.for_call({}, {}))
        except ServerUnavailable as error:
            raise ExecutionError(
                Reason.UPSTREAM, f"Server {self.name!r} cannot be shared: {error}."
            ) from error

    async def close_when_idle(self) -> None:
        """Close when the calls in progress have finished; if cancelled, at once."""
        try:
            await self._calls.wait_until_idle()
        finally:
            await self.close()

    async def close(self) -> None:
        """Stop the server's program or connection and wait until it is gone."""
        self._listing.close()
        await self._members.close()
        await self._connection.close()

    def _reason(self) -> str:
        if self._connection.opening is not None:
            output = self.last_start().output
            seen = f" (last output: {output[-1]})" if output else ""
            return self._credentials.redact(f"it is still starting{seen}")
        return self._credentials.redact(self._connection.failure)

    def _on_notice(self, notice: Any) -> None:
        """Handle a notification of the server."""
        if notice.method in LIST_NOTICES:
            self._listing.on_change()
        elif notice.method == "notifications/resources/updated":
            self.contents.subscriptions.on_updated(str(notice.params.uri))
        elif notice.method == "notifications/message":
            entry = notice.params
            text = entry.data if isinstance(entry.data, str) else encode(entry.data).decode()
            level = logging.getLevelNamesMapping().get(entry.level.upper(), OTHER_LEVELS.get(entry.level))
            shown = truncate_middle(self._credentials.redact(text), MAX_LOGGED_LENGTH)
            self._log.log(level or logging.INFO, "%s", shown)

    def _questions(self, caller: Caller) -> CallQuestions:
        is_enabled = self._settings.questions != "never"
        return CallQuestions(self.name, caller, is_enabled=is_enabled, sampling=self._settings.sampling)

    @asynccontextmanager
    async def _sessions_of(self, caller: Caller | None) -> AsyncIterator[ServerSessions]:
        """Find the sessions for a caller's requests: its own or the workspace's, as the settings say."""
        if caller is None or not self.logins.are_personal:
            yield await self._shared_sessions()
            return
        async with self._members.use(caller) as own:
            yield own or await self._shared_sessions()

    async def _shared_sessions(self) -> ServerSessions:
        """Return the sessions of the workspace. They end when its login changes."""
        if self.logins.are_personal:
            self.logins.check_shared()
        if await self.logins.login_of(WORKSPACE) != self._shared_login:
            self._connection.end("the login of the workspace has changed")
        return self._connection

    def _member_sessions(self, access: MemberAccess) -> ServerSessions:
        return ServerSessions(partial(self._opener.open_for_member, access), self._declared_first)

    async def _open(self, declared: Mapping[str, Any]) -> "ServerSession":
        """Connect and read the current listing: nothing is called before that."""
        if self.logins.are_personal and self.logins.credentials == "person":
            raise ServerUnavailable("its tools are listed by a maker, with a login of their own")
        self._shared_login = login = await self.logins.login_of(WORKSPACE)
        startup, session = await self._opener.open(declared, self._on_notice, self._secrets, self._oauth)
        self._startup = startup
        try:
            await session.start()
            if await self.logins.login_of(WORKSPACE) != login:
                raise ServerUnavailable("the login of the workspace has changed")
            await self._listing.read(session)
            await self.contents.subscriptions.repeat_after_start(session)
            startup.add_step("tools", str(len(self.known.access)))
        except BaseException:
            await session.close()
            raise
        return session


def _describe_restrictions(settings: ServerSettings, home: Path) -> str:
    from .sandbox.summary import describe_restrictions
    from .session_factory import sandbox_policy

    if settings.image:
        return "container"
    return describe_restrictions(sandbox_policy(settings, home, ()), is_restricted=settings.sandbox)


def _import_relay() -> Any:
    from .relay import relay
    from .session_factory import server_program

    return relay, server_program


def _import_login() -> Any:
    from .oauth.browser_login import log_in

    return log_in
