"""A second process that calls a server with stored tokens: `python logged_in.py URL TOKEN_FOLDER CALLS`."""

import asyncio
import sys
import time
from pathlib import Path

from onetool.domain.calls.caller import Caller
from onetool.domain.calls.invocation import CancelFlag, Invocation
from onetool.settings.secrets import Secrets
from onetool.settings.server_schema import ServerSettings
from onetool.sources.mcp_servers import McpServerSource
from onetool.storage.files.tokens import FileTokens
from onetool.storage.memory.manifests import MemoryManifests
from onetool.threads import Threads


async def main(url: str, folder: str, calls: str) -> None:
    threads = Threads()
    store = FileTokens(Path(folder), threads)
    server = McpServerSource(
        "s",
        ServerSettings(url=url),
        Secrets(),
        manifest=MemoryManifests(),
        threads=threads,
        home=Path("unused"),
        tokens=store,
    )
    for _ in range(10):  # the first attempt may time out on a busy machine; a lost login never recovers
        if await server.probe():
            break
    tool = await server.find("s.echo")
    assert tool, server.reason or server.state
    for number in range(int(calls)):
        invocation = Invocation(
            "id", "echo", {}, Caller(interface="test"), time.monotonic() + 60, CancelFlag()
        )
        print((await tool.runner({"text": str(number)}, invocation)).to_data(), flush=True)
    await server.close()


asyncio.run(main(*sys.argv[1:]))
