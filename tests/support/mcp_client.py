"""Clients of OneTool's MCP interface, usable from tests outside an event loop."""

import os
import sys
from collections.abc import Iterator, Mapping
from concurrent.futures import Future
from contextlib import AbstractAsyncContextManager, asynccontextmanager, contextmanager
from pathlib import Path
from typing import Any

import httpx2
from anyio.from_thread import BlockingPortal, start_blocking_portal
from mcp.client.client import Client
from mcp.client.stdio import StdioServerParameters, stdio_client
from mcp.client.streamable_http import streamable_http_client

from support.pack_index import write_index
from support.user_home import Home

TIMEOUT_S = 30.0


class McpSession:
    """A blocking wrapper of an MCP client, which runs on an event loop in another thread."""

    def __init__(self, portal: BlockingPortal, client: Client) -> None:
        self._portal, self._client = portal, client

    def start_call(self, tool: str, **args: Any) -> "Future[tuple[bool, str]]":
        """Call a tool without waiting; the result is whether it failed, and its text."""
        return self._portal.start_task_soon(self._call, tool, args)

    def call(self, tool: str, **args: Any) -> tuple[bool, str]:
        """Call a tool and wait for its result."""
        return self.start_call(tool, **args).result(timeout=TIMEOUT_S)

    def run(self, command: str) -> str:
        """Run code that must succeed."""
        failed, text = self.call("run", command=command)
        assert not failed, text
        return text

    async def _call(self, tool: str, args: dict[str, Any]) -> tuple[bool, str]:
        result = await self._client.call_tool(tool, args)
        (part,) = result.content
        return bool(result.is_error), part.text


def create_home(root: Path) -> Home:
    """Create the directories of a new user, for several tests to share."""
    home = Home(root / "home", root / "work")
    for directory in (home.config, home.cwd, home.state):
        directory.mkdir(parents=True, mode=0o700)
    write_index(home.state)
    return home


def child_env(**variables: str) -> dict[str, str]:
    """Return the environment for `onetool`, without coverage: the process may be killed."""
    inherited = {name: value for name, value in os.environ.items() if name.startswith(("ONETOOL", "PATH"))}
    return inherited | variables


def stdio_mcp_client(*options: str, env: Mapping[str, str] | None = None, **parameters: Any) -> Client:
    """Return a client that starts `onetool mcp` as a process."""
    environment = child_env() if env is None else dict(env)
    args = ["-m", "onetool", "mcp", *options]
    server = StdioServerParameters(command=sys.executable, args=args, env=environment, **parameters)
    return Client(stdio_client(server))


@asynccontextmanager
async def http_mcp_client(url: str, token: str) -> Any:
    """Open a client of `onetool serve` that sends its token."""
    headers = {"Authorization": f"Bearer {token}"}
    async with (
        httpx2.AsyncClient(headers=headers, trust_env=False, verify=False, timeout=30) as http,
        Client(streamable_http_client(f"{url}/mcp", http_client=http)) as client,
    ):
        yield client


@contextmanager
def open_session(client: AbstractAsyncContextManager[Client]) -> Iterator[McpSession]:
    """Open a client on an event loop in another thread."""
    with start_blocking_portal() as portal, portal.wrap_async_context_manager(client) as opened:
        yield McpSession(portal, opened)
