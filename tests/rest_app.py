"""The REST door over a real socket, inside the test's own event loop."""

import asyncio
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import httpx2

from onetool.doors.rest.app import create_app
from onetool.doors.rest.listening import make_server
from onetool.runtime import Runtime

TOKEN = "token-of-this-test"


@asynccontextmanager
async def served(runtime: Runtime, **options: Any) -> AsyncIterator[httpx2.AsyncClient]:
    """Serve a runtime for as long as the block lasts; hand out a client that has the token."""
    listening = socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    listening.bind(("127.0.0.1", 0))
    listening.listen()
    server = make_server(create_app(runtime, token=TOKEN, **options))
    serving = asyncio.ensure_future(server.serve(sockets=[listening]))
    base = f"http://127.0.0.1:{listening.getsockname()[1]}"
    try:
        headers = {"Authorization": f"Bearer {TOKEN}"}
        async with httpx2.AsyncClient(base_url=base, headers=headers, trust_env=False) as client:
            yield client
    finally:
        server.should_exit = True
        await serving
