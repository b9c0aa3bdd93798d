"""A client of OneTool's MCP door that stays open for as many tests as want to ask it something."""

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

from homes import Home

PATIENCE = 30.0


class Door:
    """Asks from outside of any event loop; the client has one of its own, on a thread."""

    def __init__(self, portal: BlockingPortal, client: Client) -> None:
        self._portal, self._client = portal, client

    def begin(self, tool: str, **args: Any) -> "Future[tuple[bool, str]]":
        """Call a tool without waiting: whether it failed, and its one text."""
        return self._portal.start_task_soon(self._call, tool, args)

    def said(self, tool: str, **args: Any) -> tuple[bool, str]:
        """Call a tool and wait."""
        return self.begin(tool, **args).result(timeout=PATIENCE)

    def run(self, command: str) -> str:
        """Run code that must succeed."""
        failed, text = self.said("run", command=command)
        assert not failed, text
        return text

    async def _call(self, tool: str, args: dict[str, Any]) -> tuple[bool, str]:
        answer = await self._client.call_tool(tool, args)
        (part,) = answer.content
        return bool(answer.is_error), part.text


def new_home(root: Path) -> Home:
    """The directories of a fresh user whom several tests share."""
    found = Home(root / "home", root / "work")
    for directory in (found.config, found.cwd):
        directory.mkdir(parents=True)
    return found


def own_env(**more: str) -> dict[str, str]:
    """What `onetool` needs of our environment; nothing that measures coverage, for it may be killed."""
    return {name: it for name, it in os.environ.items() if name.startswith(("ONETOOL", "PATH"))} | more


def over_stdio(*options: str, env: Mapping[str, str] | None = None, **more: Any) -> Client:
    """A client of `onetool mcp` in a process of its own."""
    given = own_env() if env is None else dict(env)
    args = ["-m", "onetool", "mcp", *options]
    return Client(stdio_client(StdioServerParameters(command=sys.executable, args=args, env=given, **more)))


@asynccontextmanager
async def over_http(url: str, token: str) -> Any:
    """A client of `onetool serve`, with its token."""
    headers = {"Authorization": f"Bearer {token}"}
    async with (
        httpx2.AsyncClient(headers=headers, trust_env=False, timeout=30) as http,
        Client(streamable_http_client(f"{url}/mcp", http_client=http)) as client,
    ):
        yield client


@contextmanager
def door(client: AbstractAsyncContextManager[Client]) -> Iterator[Door]:
    """Keep a client open, for tests outside of its event loop."""
    with start_blocking_portal() as portal, portal.wrap_async_context_manager(client) as opened:
        yield Door(portal, opened)
