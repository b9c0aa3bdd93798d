"""The REST interface over a real socket, on the event loop of the test."""

import asyncio
import socket
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from typing import Any

import httpx2

from onetool.bootstrap import open_runtime
from onetool.interfaces.rest.app import create_app
from onetool.interfaces.rest.connections import ConnectionLimits
from onetool.interfaces.rest.server import create_server
from onetool.runtime.runtime import Runtime
from onetool.settings.configuration import load_configuration
from onetool.settings.paths import find_paths
from onetool.testing import memory_runtime
from support.user_home import Home
from support.waiting import HANG_S

TOKEN = "token-of-this-test"


@asynccontextmanager
async def serve_rest(
    runtime: Runtime,
    *,
    limits: ConnectionLimits | None = None,
    proxies: Sequence[str] = (),
    **options: Any,
) -> AsyncIterator[httpx2.AsyncClient]:
    """Serve a runtime over REST; yield a client that sends the token."""
    listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    listener.bind(("127.0.0.1", 0))
    listener.listen()
    server = create_server(create_app(runtime, token=TOKEN, **options), limits, proxies)
    serving = asyncio.ensure_future(server.serve(sockets=[listener]))
    base = f"http://127.0.0.1:{listener.getsockname()[1]}"
    try:
        headers = {"Authorization": f"Bearer {TOKEN}"}
        async with httpx2.AsyncClient(
            base_url=base, headers=headers, trust_env=False, verify=False, timeout=HANG_S
        ) as client:
            yield client
    finally:
        server.should_exit = True
        await serving


@asynccontextmanager
async def serve_home(home: Home, **options: Any) -> AsyncIterator[httpx2.AsyncClient]:
    """Serve with the files of a user over REST; yield a client that sends the token."""
    paths = find_paths(home.env, home.cwd)
    async with (
        open_runtime(lambda: load_configuration(paths, {})) as runtime,
        serve_rest(runtime, **options) as client,
    ):
        yield client


@asynccontextmanager
async def serve_memory(packs: Any = None, **options: Any) -> AsyncIterator[httpx2.AsyncClient]:
    """Serve a runtime in memory; yield a client that sends the token."""
    async with memory_runtime(packs, **options) as ot, serve_rest(ot.runtime) as client:
        yield client
