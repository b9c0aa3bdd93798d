"""The background process: serves MCP clients and reports its state over the private socket."""

import asyncio
import json
import logging
import os
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from onetool.domain.errors import OneToolError
from onetool.interfaces.mcp.exposure import EXPOSURES
from onetool.interfaces.mcp.mcp_endpoint import McpEndpoint, UnknownEndpoint, check_endpoint, create_endpoint
from onetool.interfaces.mcp.transports import serve_connection
from onetool.version import __version__

from .address import NotReachable, check_peer
from .attach import MAX_LINE_BYTES
from .runtimes import DirectoryRuntimes

log = logging.getLogger(__name__)

REQUEST_TIMEOUT_S = 10.0
MAX_CLIENTS = 200


@dataclass(frozen=True, slots=True)
class AttachedClient:
    """A client that is connected."""

    pid: int
    cwd: str
    since: float


class InvalidRequest(Exception):
    """A request that cannot be served. The message is for the user of the client."""


class BackgroundService:
    """Serves the clients of one user until it is stopped."""

    def __init__(self, runtimes: DirectoryRuntimes, new_id: Callable[[], str]) -> None:
        self._runtimes, self._new_id = runtimes, new_id
        self._clients: dict[str, AttachedClient] = {}
        self._tasks: set[asyncio.Task[Any]] = set()
        self._started, self._stop = time.time(), asyncio.Event()

    async def serve(self, path: Path) -> None:
        """Serve clients at a socket in a private directory, until `stop` is called or a client asks for it.

        The caller holds the lock of the directory, so a socket that is there belongs to a process that ended.
        """
        path.unlink(missing_ok=True)  # noqa: ASYNC240 - once, before the first client
        old_mask = os.umask(0o177)
        try:
            server = await asyncio.start_unix_server(self._on_client, path, limit=MAX_LINE_BYTES)
        finally:
            os.umask(old_mask)
        try:
            await self._stop.wait()
            path.unlink(missing_ok=True)  # noqa: ASYNC240 - once, after the last client
        finally:
            server.close()  # `wait_closed` would wait for the connections, which end below
            for task in self._tasks:
                task.cancel()
            await asyncio.gather(*self._tasks, return_exceptions=True)
            await self._runtimes.aclose()

    def stop(self) -> None:
        """End all connections and stop."""
        self._stop.set()

    async def _on_client(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.ensure_future(self._serve_client(reader, writer))
        self._tasks.add(task)
        try:
            await task
        except (OSError, ValueError, TimeoutError, NotReachable) as error:
            log.info("client rejected: %s: %s", type(error).__name__, error)
        except asyncio.CancelledError:
            return  # the service stops
        except Exception:
            log.exception("client failed")
        finally:
            self._tasks.discard(task)
            writer.close()

    async def _serve_client(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        check_peer(writer.get_extra_info("socket"))
        async with asyncio.timeout(REQUEST_TIMEOUT_S):
            request = json.loads(await reader.readline())
        try:
            serve = self._handler(request)
        except InvalidRequest as error:
            await _respond(writer, error=str(error))
            return
        await serve(request, reader, writer)

    def _handler(self, request: Any) -> Callable[..., Any]:
        if not isinstance(request, dict):
            raise InvalidRequest("the request is not an object")
        kind, version = request.get("attach"), request.get("version")
        handlers = {
            "status": self._report,
            "stop": self._end,
            "mcp": self._serve_mcp,
            "server": self._relay_server,
        }
        if kind not in handlers:
            raise InvalidRequest(f"unknown request {kind!r}")
        if version != __version__ and kind in ("mcp", "server"):
            raise InvalidRequest(
                f"it is OneTool {__version__}, and this is {version}. Restart it: onetool down && onetool up"
            )
        return handlers[kind]

    async def _report(self, request: Any, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        servers = {}
        for cwd, runtime in self._runtimes.all().items():
            described = await runtime.state.servers.describe()
            servers[str(cwd)] = runtime.state.redactor.mask(described)
        clients = [
            {"pid": client.pid, "cwd": client.cwd, "since": client.since} for client in self._clients.values()
        ]
        await _respond(writer, pid=os.getpid(), since=self._started, clients=clients, servers=servers)

    async def _end(self, request: Any, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await _respond(writer, pid=os.getpid())
        self.stop()

    async def _serve_mcp(
        self, request: Any, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        cwd, endpoint = Path(str(request.get("cwd"))), _endpoint(request)
        is_valid = cwd.is_absolute() and endpoint.expose in (None, *EXPOSURES)
        if not is_valid or len(self._clients) >= MAX_CLIENTS:
            await _respond(writer, error="the request is invalid, or there are too many clients")
            return
        id_ = self._new_id()
        try:
            async with self._runtimes.use(cwd) as runtime:
                check_endpoint(runtime, endpoint)
                await _respond(writer)
                self._clients[id_] = AttachedClient(int(request.get("pid", 0)), str(cwd), time.time())
                await serve_connection(create_endpoint(runtime, endpoint, id_), reader, writer)
        except (OneToolError, UnknownEndpoint) as error:
            await _respond(writer, error=str(error))
        finally:
            self._clients.pop(id_, None)

    async def _relay_server(
        self, request: Any, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        cwd, name = Path(str(request.get("cwd"))), str(request.get("server"))
        try:
            async with self._runtimes.use(cwd) as runtime:
                server = runtime.state.servers.get(name)
                if server is None:
                    raise InvalidRequest(f"there is no server {name!r}")
                serve = await server.relay(str(request.get("digest")))
                await _respond(writer)
                await serve(reader, writer)
        except (OneToolError, InvalidRequest) as error:
            await _respond(writer, error=str(error))


def _endpoint(request: Any) -> McpEndpoint:
    values = (request.get(key) for key in McpEndpoint._fields)
    return McpEndpoint(*(None if value is None else str(value) for value in values))


async def _respond(writer: asyncio.StreamWriter, **fields: Any) -> None:
    with suppress(OSError):
        writer.write(json.dumps({"version": __version__, **fields}).encode() + b"\n")
        await writer.drain()
