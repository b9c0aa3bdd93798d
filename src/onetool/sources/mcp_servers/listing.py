"""The listing of one MCP server's tools: first, and again when the server reports a change."""

import asyncio
import logging
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from contextvars import Context
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple

from onetool.domain.errors import StoreUnavailable
from onetool.domain.secrets.credential_set import CredentialSet
from onetool.domain.secrets.redaction import Redactor
from onetool.domain.servers.manifest import (
    ServerManifest,
    merge,
    merge_items,
    new_tool_names,
    receive_instructions,
)
from onetool.domain.servers.server_item import KEYS, ItemKind, ServerItem
from onetool.domain.servers.server_tool import ServerTool
from onetool.domain.text.json_text import encode
from onetool.domain.text.strings import pluralize, truncate_middle

from .errors import ServerUnavailable, consume_exception, describe
from .manifest_cache import ManifestCache
from .pages import LISTS, read_items, read_tools
from .sessions import ServerSessions

if TYPE_CHECKING:
    from .session import ServerSession

LISTING_TIMEOUT_S = 5.0
"""Seconds that a listing of tools, or a health check, waits for a server to start."""
RELIST_PAUSE_S = 0.5
"""Seconds between two listings after the server reported changes."""
MAX_AGE_S = 5.0
"""Seconds for which a list of resources is used without asking a running server again."""
MAX_LOGGED_LENGTH = 500


class Handshake(NamedTuple):
    """What a server said when a session began."""

    instructions: str
    capabilities: Mapping[str, Any]


class ServerListing:
    """Reads the tools of a server into its manifest."""

    def __init__(
        self,
        connection: ServerSessions,
        manifests: ManifestCache,
        log: logging.Logger,
        credentials: CredentialSet,
        *,
        allow_new: bool,
        timeout_s: float | None,
    ) -> None:
        """timeout_s: how long a listing waits for a server to start; None to wait until it has started."""
        self._connection, self._manifests, self._log = connection, manifests, log
        self._credentials, self._allow_new, self._timeout_s = credentials, allow_new, timeout_s
        self._relisting: asyncio.Task[None] | None = None
        self._has_changed = False
        self._problems: dict[str, Sequence[str]] = {}
        """What of the last listing of each kind is ignored, and why."""
        self._reading_items: asyncio.Task[None] | None = None
        self._items_at = 0.0
        self._timed_out: asyncio.Task[Any] | None = None
        """The start attempt that a listing has already waited for."""

    @property
    def warnings(self) -> list[str]:
        """What of the last listing is ignored, and why."""
        return [problem for problems in self._problems.values() for problem in problems]

    async def ensure_listed(self) -> None:
        """Start a server whose tools are unknown. One that cannot start has no tools."""
        await self._manifests.ensure_fresh()
        opening = self._connection.opening
        if self._manifests.manifest is not None or (opening is not None and opening is self._timed_out):
            return
        try:
            async with asyncio.timeout(self._timeout_s):
                await self._connection.session()
        except ServerUnavailable as error:
            self._log.info("no tools listed: %s", error)
        except TimeoutError:
            self._timed_out = self._connection.opening  # one listing asks each source more than once
            self._log.info("no tools listed: the server is still starting")

    async def read(self, session: "ServerSession") -> None:
        """List the tools of a session, scan them and store the listing. Start to list what else it offers.

        A server may put a credential that it received into a definition. So definitions are redacted before
        anything else sees them, and a new token does not change them.
        """
        redactor = self._credentials.redactor
        listing = await read_tools(session)
        self._note_problems("tool", listing.problems)
        tools = [redacted_tool(ServerTool(definition=item), redactor) for item in listing.items]
        instructions = redactor.redact(session.instructions)
        await self.store(tools, Handshake(instructions, redactor.mask(dict(session.capabilities))))
        self._start_reading_items(session, tuple(LISTS))

    async def store(self, tools: Sequence[ServerTool], handshake: "Handshake | None" = None) -> None:
        """Scan and store a listing, without secrets, as that of the server.

        handshake: None if what the server said is not for all.
        """
        await self._manifests.scan(tools)
        await self._manifests.ensure_fresh()
        old = self._manifests.manifest

        def update(before: ServerManifest | None) -> ServerManifest:
            merged = merge(before, tools, time.time(), allow_new=self._allow_new)
            if handshake is None:
                return replace(merged, capabilities=merged.capabilities or {"tools": {}})
            received = receive_instructions(merged, handshake.instructions)
            return replace(received, capabilities=handshake.capabilities)

        try:
            new = await self._manifests.change(update)
        except StoreUnavailable:
            if old is None or replace(update(old), listed_at=old.listed_at) != old:
                raise
            new = old  # it has listed the same before, so its tools can be called
        if added := new_tool_names(old, new):
            self._log_names("new tool", added)
        if quarantined := [tool.name for tool in self._manifests.quarantined()]:
            self._log_names("quarantined tool", quarantined)
        if reason := self._manifests.tools.instructions.reason:
            self._log.warning("quarantined instructions: %s", reason)

    async def ensure_items_listed(self, kind: ItemKind) -> None:
        """Start a server whose listing is unknown, and wait until it has listed its resources and prompts.

        A running server is asked for its resources again: it may have others without saying so.
        """
        await self.ensure_listed()
        now = time.monotonic()
        is_old = kind == "resource" and now - self._items_at > MAX_AGE_S
        if is_old and self._connection.is_open and self._reading_items is None:
            with suppress(ServerUnavailable):  # it has just ended: what it listed last is known
                self._start_reading_items(await self._connection.current(), (kind,))
        if self._reading_items is not None:
            await asyncio.wait({self._reading_items})

    def _start_reading_items(self, session: "ServerSession", kinds: Sequence[ItemKind]) -> None:
        """Read lists in the background: tools do not wait for a server that is slow to list the rest."""
        kinds = [kind for kind in kinds if LISTS[kind].capability in session.capabilities]
        known = self._manifests.manifest.items if self._manifests.manifest else {}
        if kinds or known:
            if self._reading_items is not None:
                self._reading_items.cancel()
            self._reading_items = asyncio.create_task(self._read_items(session, kinds), context=Context())
            self._reading_items.add_done_callback(self._forget_reading)

    def _forget_reading(self, task: "asyncio.Task[None]") -> None:
        consume_exception(task)
        if self._reading_items is task:
            self._reading_items = None

    async def _read_items(self, session: "ServerSession", kinds: Sequence[ItemKind]) -> None:
        """Read lists and store them if they differ. A list that cannot be read stays as it was."""
        self._items_at = time.monotonic()
        redactor, read = self._credentials.redactor, dict[ItemKind, list[ServerItem]]()
        results = await asyncio.gather(*(read_items(session, kind) for kind in kinds), return_exceptions=True)
        for kind, result in zip(kinds, results, strict=True):
            if isinstance(result, BaseException):
                self._note_problems(kind, [describe(result)])
            else:
                self._note_problems(kind, result.problems)
                items = [ServerItem(kind=kind, definition=item) for item in result.items]
                read[kind] = [_redacted_item(item, redactor) for item in items]
        await self._manifests.scan([item for items in read.values() for item in items])
        await self._manifests.ensure_fresh()
        manifest = self._manifests.manifest
        if manifest is None or all(
            kind in manifest.items and tuple(items) == manifest.items[kind].items
            for kind, items in read.items()
        ):
            return
        known = manifest
        await self._manifests.change(
            lambda before: merge_items(before or known, read, allow_new=self._allow_new)
        )

    def on_change(self) -> None:
        """List again, once for all notifications that arrive in the meantime."""
        self._has_changed = True
        if self._relisting is None or self._relisting.done():
            self._relisting = asyncio.create_task(self._relist())

    def close(self) -> None:
        """Stop listing."""
        for task in (self._relisting, self._reading_items):
            if task is not None:
                task.cancel()

    async def _relist(self) -> None:
        while self._has_changed:
            self._has_changed = False
            try:
                await self.read(await self._connection.current())
            except ServerUnavailable as error:
                self._log.warning("changed tools cannot be listed: %s", error)
            await asyncio.sleep(RELIST_PAUSE_S)

    def _note_problems(self, kind: str, problems: Sequence[str]) -> None:
        redact = self._credentials.redactor.redact
        self._problems[kind] = [redact(problem) for problem in problems]
        for problem in self._problems[kind]:
            self._log.warning("%s", problem)

    def _log_names(self, kind: str, names: list[str]) -> None:
        shown = truncate_middle(", ".join(names), MAX_LOGGED_LENGTH)
        self._log.warning("%s: %s", pluralize(len(names), kind), shown)


def redacted_tool(tool: ServerTool, redactor: Redactor) -> ServerTool:
    """Return a definition without secrets. Its name stays."""
    if not redactor.contains_secret(encode(tool.definition).decode()):
        return tool
    return replace(tool, definition={**redactor.mask(tool.definition), "name": tool.name})


def _redacted_item(item: ServerItem, redactor: Redactor) -> ServerItem:
    if not redactor.contains_secret(encode(item.definition).decode()):
        return item
    return replace(item, definition={**redactor.mask(item.definition), KEYS[item.kind]: item.key})
