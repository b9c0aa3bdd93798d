"""Another MCP server as a source of tools: known from its last listing, started when it is needed."""

import asyncio
import logging
import time
from collections.abc import Callable, Collection, Hashable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from onetool.domain.errors import ExecutionError, LoginFailed, Reason
from onetool.domain.invocation import Invocation
from onetool.domain.manifest import HeldBack, ServerState, merge, new_names
from onetool.domain.paging import Page
from onetool.domain.texts import counted, cut
from onetool.domain.tool import CURRENT, Tool
from onetool.ports import ManifestStore, TokenStore
from onetool.settings.schema import Server
from onetool.settings.secrets import Secrets
from onetool.threads import Threads

from .account import account_of
from .connection import Connection
from .failure import Down, NotSent
from .known import Known
from .offers import Offers, Scan, nothing_found

if TYPE_CHECKING:
    from .session import Session

LISTING_LIMIT = 5.0
"""Seconds that somebody who lists tools, or asks for health, waits for a server."""
RELIST_PAUSE = 1.0
"""Seconds between two listings that a server asks for by saying that its tools have changed."""
SHOWN = 500


class McpServer:
    """A ServerSource whose tools are a pack of its name."""

    is_remote = True

    def __init__(
        self,
        name: str,
        settings: Server,
        secrets: Secrets,
        *,
        manifest: ManifestStore,
        threads: Threads,
        scan: Scan = nothing_found,
        tokens: TokenStore | None = None,
        allowed_hosts: Sequence[str] = (),
    ) -> None:
        self.name = name
        self._settings, self._secrets, self._threads = settings, secrets, threads
        self._account = account_of(name, settings, tokens, threads, allowed_hosts)
        self._log = logging.getLogger(f"onetool.servers.{name}")
        offers = Offers(name, settings, scan, lambda tool: partial(self._run, tool))
        self._known = Known(name, manifest, offers, threads)
        self._connection = Connection(self._open)
        self._relisting: asyncio.Task[None] | None = None
        self._calls, self._is_idle = 0, asyncio.Event()
        self._is_idle.set()
        self._has_moved = False
        self._gave_up: asyncio.Task[Any] | None = None
        """The attempt to start it that somebody has waited for long enough."""

    @property
    def state(self) -> ServerState:
        """How far it is: configured, known from a listing, started, or failed."""
        if self._connection.is_open:
            return "started"
        if self._connection.failure:
            return "failed"
        return "configured" if self._known.manifest is None else "known"

    @property
    def reason(self) -> str:
        """Why it cannot be used now."""
        if self._connection.opening is not None:
            return "it is still starting; try again in a moment"
        return self._secrets.redactor.redact(self._connection.failure)

    @property
    def is_asleep(self) -> bool:
        """Whether it must be started before its tools are known."""
        return self._known.manifest is None

    def generation(self) -> Hashable:
        """Moves when another listing or an approval was kept, by whichever process."""
        return self._known.generation()

    async def refresh(self) -> None:
        """Read what is known of it; never starts it."""
        await self._known.refresh()

    async def find(self, name: str, version: str | None = None) -> Tool | None:
        """Return the tool of this name; there is one version of each."""
        if name.partition(".")[0] != self.name or version not in (None, CURRENT):
            return None
        await self._be_listed()
        return self._known.offered.registry.get(name)

    async def page(self, cursor: str | None, limit: int) -> Page[Tool]:
        """Return tools in the order of the server."""
        await self._be_listed()
        tools, start = self._known.offered.registry, int(cursor or 0)
        follows = start + limit
        return Page(tools.slice(start, follows), str(follows) if follows < len(tools) else None)

    async def packs(self) -> Collection[str]:
        """Return its name, which is known before anything was listed: nobody waits for that."""
        return (self.name,)

    async def pack(self, name: str) -> Sequence[Tool]:
        """Return the tools of one pack."""
        if name != self.name:
            return ()
        await self._be_listed()
        return self._known.offered.registry.list()

    async def count(self) -> int:
        """Return how many tools there are."""
        await self._be_listed()
        return len(self._known.offered.registry)

    async def probe(self, patience: float | None = None) -> bool:
        """Connect if need be; return whether the server answers, within these seconds or a few."""
        limit = patience or LISTING_LIMIT
        try:
            async with asyncio.timeout(limit):
                session = await self._connection.session(at_once=True)
                return await session.answers(limit)
        except (Down, TimeoutError):
            return False

    async def held_back(self) -> list[HeldBack]:
        """Return the tools that wait for approval, as they were and as they are."""
        await self._known.be_read()
        return self._known.held_back()

    async def approve(self, seen: Mapping[str, str]) -> None:
        """Let tools be used as somebody has seen them: the pin of each, by its name at the server.

        Raises ValueError for a tool that is not listed, or that has changed since.
        """
        await self._known.approve(seen)

    async def leave(self) -> None:
        """Close when the calls that are under way have ended; cancelled, at once."""
        try:
            await self._is_idle.wait()
        finally:
            await self.close()

    async def login(self, show: Callable[[str], None], open_browser: Callable[[str], bool]) -> None:
        """Log a person in: show and open the page for that, and keep what comes back for all processes.

        Raises LoginFailed.
        """
        if self._account is None:
            valid = "Valid: one with a url and without a header Authorization."
            raise LoginFailed(f"The server {self.name!r} has no login. {valid}")
        log_in = await self._threads.run(_import_login)
        await log_in(self._account, show, open_browser)
        if self._connection.is_open:
            (await self._connection.current()).end("somebody has logged in anew")
        await self.probe()

    async def close(self) -> None:
        """End the server's program or connection, and wait until it is gone."""
        if self._relisting is not None:
            self._relisting.cancel()
        await self._connection.close()

    async def _run(self, name: str, args: Mapping[str, Any], invocation: Invocation) -> Any:
        self._calls += 1
        self._is_idle.clear()
        try:
            return await self._call(name, args, invocation)
        finally:
            self._calls -= 1
            if not self._calls:
                self._is_idle.set()

    async def _call(self, name: str, args: Mapping[str, Any], invocation: Invocation) -> Any:
        """Call a tool; once more if nothing was sent, because the server had gone unnoticed."""
        for is_last in (False, True):
            session = await self._session()
            self._check(name)
            try:
                return await session.call(name, args, invocation.deadline, invocation.caller.progress)
            except NotSent as error:
                session.end(str(error))
                if is_last:
                    raise self._unreachable(error) from error
        raise AssertionError

    async def _session(self) -> "Session":
        try:
            return await self._connection.session()
        except Down as error:
            raise self._unreachable(error) from error

    def _unreachable(self, error: Down) -> ExecutionError:
        return ExecutionError(Reason.UPSTREAM, f"The server {self.name!r} cannot be used: {error}.")

    def _check(self, name: str) -> None:
        """Look at what the server lists now: the caller has seen what it listed before it was started."""
        held = self._known.offered.held.get(name)
        if held is None:
            raise ExecutionError(Reason.UPSTREAM, f"The server {self.name!r} no longer offers {name!r}.")
        if held:
            raise ExecutionError(
                Reason.UPSTREAM, f"{name!r} of the server {self.name!r} is held back: {held}"
            )

    async def _be_listed(self) -> None:
        """Start a server of which nothing is known; one that cannot be started has no tools."""
        await self._known.be_read()
        opening = self._connection.opening
        if self._known.manifest is not None or (opening is not None and opening is self._gave_up):
            return
        try:
            async with asyncio.timeout(LISTING_LIMIT):
                await self._connection.session()
        except Down as error:
            self._log.info("has no tools to list: %s", error)
        except TimeoutError:
            self._gave_up = self._connection.opening  # who lists goes through the sources more than once
            self._log.info("has no tools to list: it takes too long to start")

    async def _open(self) -> "Session":
        """Connect, and see what the server lists now: nothing is called before that."""
        open_session = await self._threads.run(_import_opening)
        session: Session = open_session(
            self._settings, self._secrets, self._log, self._on_change, self._account
        )
        try:
            await session.start()
            await self._list(session)
        except BaseException:
            await session.close()
            raise
        return session

    async def _list(self, session: "Session") -> None:
        tools = await session.tools()
        await self._known.look_at(tools)
        await self._known.be_read()
        old = self._known.manifest
        known = await self._known.change(lambda before: merge(before, tools, time.time()))
        if new := new_names(old, known):
            self._log.warning(
                "offers %s that it did not before: %s", counted(len(new), "tool"), cut(", ".join(new), SHOWN)
            )
        if held := [tool.name for tool in self._known.held_back()]:
            self._log.warning("holds back %s: %s", counted(len(held), "tool"), cut(", ".join(held), SHOWN))

    def _on_change(self) -> None:
        """List again, once for all notices that come meanwhile."""
        self._has_moved = True
        if self._relisting is None or self._relisting.done():
            self._relisting = asyncio.create_task(self._relist())

    async def _relist(self) -> None:
        while self._has_moved:
            self._has_moved = False
            try:
                await self._list(await self._connection.current())
            except Down as error:
                self._log.warning("has changed its tools, which cannot be listed: %s", error)
            await asyncio.sleep(RELIST_PAUSE)


def _import_opening() -> Any:
    """On a thread: the package of the protocol takes a while to load."""
    from .opening import open_session

    return open_session


def _import_login() -> Any:
    from .login import log_in

    return log_in
