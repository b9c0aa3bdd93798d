"""Runs `mcp_servers/flooding_server.py` over any transport, and a runtime that calls it."""

import subprocess
import sys
from collections.abc import AsyncIterator, Iterator
from contextlib import AsyncExitStack, asynccontextmanager, contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from onetool.settings.secrets import Secrets
from onetool.settings.server_schema import ServerSettings
from onetool.sources.mcp_servers import McpServerSource
from onetool.storage.memory.manifests import MemoryManifests
from onetool.testing.runtime import MemoryClient, memory_runtime
from onetool.threads import Threads
from support.paths import MCP_SERVERS

SCRIPT = str(MCP_SERVERS / "flooding_server.py")
TRANSPORTS = ("stdio", "json", "sse")


@asynccontextmanager
async def open_client(transport: str = "stdio", **settings: Any) -> AsyncIterator[MemoryClient]:
    """Yield a client of a runtime with the server `s` and, over stdio, a second one, `other`."""
    async with AsyncExitStack() as stack:
        with _endpoint(transport) as endpoint:
            s = await stack.enter_async_context(_source("s", **endpoint, **settings))
            other = await stack.enter_async_context(_source("other", **_command()))
            yield await stack.enter_async_context(memory_runtime(servers=[s, other]))
            await stack.aclose()


@asynccontextmanager
async def _source(name: str, **settings: Any) -> AsyncIterator[McpServerSource]:
    with TemporaryDirectory() as home:
        source = McpServerSource(
            *(name, ServerSettings(**settings), Secrets({})),
            manifest=MemoryManifests(),
            threads=Threads(),
            home=Path(home),
            is_patient=True,
        )
        try:
            yield source
        finally:
            await source.close()


@contextmanager
def _endpoint(transport: str) -> Iterator[dict[str, Any]]:
    """Yield the settings that reach the server. One over HTTP is started, and stopped at the end."""
    if transport == "stdio":
        yield _command()
        return
    command = [sys.executable, "-I", SCRIPT, transport]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout
            yield {"url": process.stdout.readline().strip()}
        finally:
            process.kill()


def _command() -> dict[str, Any]:
    return {"command": sys.executable, "args": ("-I", SCRIPT, "stdio"), "sandbox": False}
