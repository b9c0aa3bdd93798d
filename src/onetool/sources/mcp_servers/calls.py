"""Calls to the tools of one MCP server."""

import asyncio
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from onetool.domain.calls.invocation import Invocation
from onetool.domain.errors import ExecutionError, Reason

from .connection import Connection
from .errors import RequestNotSent, ServerUnavailable
from .manifest_cache import ManifestCache

if TYPE_CHECKING:
    from .session import ServerSession


class ServerCalls:
    """Runs calls on the server's session. A request that was sent is never sent again."""

    def __init__(self, server: str, connection: Connection, manifests: ManifestCache) -> None:
        self._server, self._connection, self._manifests = server, connection, manifests
        self._running = 0
        self._is_idle = asyncio.Event()
        self._is_idle.set()

    async def run(self, tool: str, args: Mapping[str, Any], invocation: Invocation) -> Any:
        """Call a tool by its name on the server.

        Raises:
            ExecutionError: The server is unavailable, no longer lists the tool, or the tool is quarantined.
        """
        self._running += 1
        self._is_idle.clear()
        try:
            return await self._call(tool, args, invocation)
        finally:
            self._running -= 1
            if not self._running:
                self._is_idle.set()

    async def wait_until_idle(self) -> None:
        """Return when no call is in progress."""
        await self._is_idle.wait()

    async def _call(self, tool: str, args: Mapping[str, Any], invocation: Invocation) -> Any:
        """Call a tool. Retry once if nothing was sent because the connection had been lost."""
        for is_last in (False, True):
            session = await self._session()
            self._check(tool)
            schema = self._manifests.tools.output_schemas.get(tool)
            try:
                return await session.call(tool, args, invocation.deadline, invocation.report_progress, schema)
            except RequestNotSent as error:
                session.end(str(error))
                if is_last:
                    raise self._unavailable(error) from error
        raise AssertionError

    async def _session(self) -> "ServerSession":
        try:
            return await self._connection.session()
        except ServerUnavailable as error:
            raise self._unavailable(error) from error

    def _unavailable(self, error: ServerUnavailable) -> ExecutionError:
        return ExecutionError(Reason.UPSTREAM, f"Server {self._server!r} is unavailable: {error}.")

    def _check(self, tool: str) -> None:
        """Check the current listing: the caller may have resolved the tool before the server started."""
        reason = self._manifests.tools.quarantined.get(tool)
        if reason is None:
            raise ExecutionError(Reason.UPSTREAM, f"Server {self._server!r} no longer has a tool {tool!r}.")
        if reason:
            message = f"Tool {tool!r} of server {self._server!r} is quarantined: {reason}"
            raise ExecutionError(Reason.UPSTREAM, message)
