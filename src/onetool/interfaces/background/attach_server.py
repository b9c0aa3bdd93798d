"""Use of a server that OneTool in the background runs."""

import asyncio

from onetool.settings.paths import Paths

from .address import NotReachable, socket_path
from .attach import request

START_TIMEOUT_S = 1_000.0
"""Longer than any start of a server: the response arrives when it has started, or when that failed."""
StreamConnection = tuple[asyncio.StreamReader, asyncio.StreamWriter]


async def attach_server(paths: Paths, name: str, digest: str) -> StreamConnection | None:
    """Connect to a server of the background process. Return None if it does not run, or not this server."""
    try:
        connection, _ = await asyncio.to_thread(
            request,
            socket_path(paths.state),
            timeout_s=START_TIMEOUT_S,
            attach="server",
            cwd=str(paths.cwd),
            server=name,
            digest=digest,
        )
    except NotReachable:
        return None
    connection.setblocking(False)
    return await asyncio.open_unix_connection(sock=connection)
