"""The listing of one MCP server's tools: first, and again when the server reports a change."""

import asyncio
import logging
import time
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from onetool.domain.secrets.credential_set import CredentialSet
from onetool.domain.secrets.redaction import Redactor
from onetool.domain.servers.manifest import ServerTool, merge, new_tool_names
from onetool.domain.text.json_text import encode
from onetool.domain.text.strings import pluralize, truncate_middle

from .connection import Connection
from .errors import ServerUnavailable
from .manifest_cache import ManifestCache

if TYPE_CHECKING:
    from .session import ServerSession

LISTING_TIMEOUT_S = 5.0
"""Seconds that a listing of tools, or a health check, waits for a server to start."""
RELIST_PAUSE_S = 1.0
"""Seconds between two listings after the server reported changes."""
MAX_LOGGED_LENGTH = 500


class ServerListing:
    """Reads the tools of a server into its manifest."""

    def __init__(
        self,
        connection: Connection,
        manifests: ManifestCache,
        log: logging.Logger,
        credentials: CredentialSet,
        *,
        allow_new: bool,
    ) -> None:
        self._connection, self._manifests, self._log = connection, manifests, log
        self._credentials, self._allow_new = credentials, allow_new
        self._relisting: asyncio.Task[None] | None = None
        self._has_changed = False
        self._timed_out: asyncio.Task[Any] | None = None
        """The start attempt that a listing has already waited for."""

    async def ensure_listed(self) -> None:
        """Start a server whose tools are unknown. One that cannot start has no tools."""
        await self._manifests.ensure_fresh()
        opening = self._connection.opening
        if self._manifests.manifest is not None or (opening is not None and opening is self._timed_out):
            return
        try:
            async with asyncio.timeout(LISTING_TIMEOUT_S):
                await self._connection.session()
        except ServerUnavailable as error:
            self._log.info("no tools listed: %s", error)
        except TimeoutError:
            self._timed_out = self._connection.opening  # one listing asks each source more than once
            self._log.info("no tools listed: the server is still starting")

    async def read(self, session: "ServerSession") -> None:
        """List the tools of a session, scan them and store the listing.

        A server may put a credential that it received into a definition. So definitions are redacted before
        anything else sees them, and a new token does not change them.
        """
        redactor = self._credentials.redactor
        tools = [_redacted(tool, redactor) for tool in await session.tools()]
        await self._manifests.scan(tools)
        await self._manifests.ensure_fresh()
        old = self._manifests.manifest
        new = await self._manifests.change(
            lambda before: merge(before, tools, time.time(), allow_new=self._allow_new)
        )
        if added := new_tool_names(old, new):
            self._log_names("new", added)
        if quarantined := [tool.name for tool in self._manifests.quarantined()]:
            self._log_names("quarantined", quarantined)

    def on_change(self) -> None:
        """List again, once for all notifications that arrive in the meantime."""
        self._has_changed = True
        if self._relisting is None or self._relisting.done():
            self._relisting = asyncio.create_task(self._relist())

    def close(self) -> None:
        """Stop listing."""
        if self._relisting is not None:
            self._relisting.cancel()

    async def _relist(self) -> None:
        while self._has_changed:
            self._has_changed = False
            try:
                await self.read(await self._connection.current())
            except ServerUnavailable as error:
                self._log.warning("changed tools cannot be listed: %s", error)
            await asyncio.sleep(RELIST_PAUSE_S)

    def _log_names(self, kind: str, names: list[str]) -> None:
        shown = truncate_middle(", ".join(names), MAX_LOGGED_LENGTH)
        self._log.warning("%s: %s", pluralize(len(names), f"{kind} tool"), shown)


def _redacted(tool: ServerTool, redactor: Redactor) -> ServerTool:
    if not redactor.contains_secret(encode(tool.to_json()).decode()):
        return tool
    return replace(
        tool,
        description=redactor.redact(tool.description),
        input_schema=redactor.mask(tool.input_schema),
        output_schema=redactor.mask(tool.output_schema),
        annotations=redactor.mask(tool.annotations),
    )
