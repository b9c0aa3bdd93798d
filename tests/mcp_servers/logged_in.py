"""A process of the same user: `python logged_in.py URL FOLDER CALLS` calls a server as who has logged in."""

import asyncio
import sys
import time
from pathlib import Path

from onetool.domain.caller import Caller
from onetool.domain.invocation import Flag, Invocation
from onetool.settings.schema import Server
from onetool.settings.secrets import Secrets
from onetool.sources.mcp_servers import McpServer
from onetool.storage.flat_file_tokens import FlatFileTokens
from onetool.storage.memory_manifests import MemoryManifests
from onetool.threads import Threads


async def main(url: str, folder: str, calls: str) -> None:
    store, threads = FlatFileTokens(Path(folder)), Threads()
    server = McpServer(
        "s", Server(url=url), Secrets(), manifest=MemoryManifests(), threads=threads, tokens=store
    )
    for _ in range(
        10
    ):  # on a busy machine the first attempt may take too long; a lost login never comes back
        if await server.probe():
            break
    tool = await server.find("s.echo")
    assert tool, server.reason or server.state
    for number in range(int(calls)):
        invocation = Invocation("id", "echo", {}, Caller(door="test"), time.monotonic() + 60, Flag())
        print(await tool.runner({"text": str(number)}, invocation), flush=True)
    await server.close()


asyncio.run(main(*sys.argv[1:]))
