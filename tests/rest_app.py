"""The REST door over a real socket, inside the test's own event loop."""

import asyncio
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from typing import Any

import httpx2
import uvicorn

from onetool.doors.rest.app import create_app
from onetool.runtime import Runtime

TOKEN = "token-of-this-test"


class Server(uvicorn.Server):
    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield


@asynccontextmanager
async def served(runtime: Runtime, **options: Any) -> AsyncIterator[httpx2.AsyncClient]:
    """Serve a runtime for as long as the block lasts; hand out a client that has the token."""
    config = uvicorn.Config(
        create_app(runtime, token=TOKEN, **options), port=0, log_config=None, lifespan="off"
    )
    listening = config.bind_socket()
    listening.listen()
    server = Server(config)
    serving = asyncio.ensure_future(server.serve(sockets=[listening]))
    base = f"http://127.0.0.1:{listening.getsockname()[1]}"
    try:
        headers = {"Authorization": f"Bearer {TOKEN}"}
        async with httpx2.AsyncClient(base_url=base, headers=headers, trust_env=False) as client:
            yield client
    finally:
        server.should_exit = True
        await serving
