"""Idle memory of clients that share servers in the background, and of clients that start their own.

Run it with `python -m benchmarks.background_memory [SERVERS] [CLIENTS]`. Requires Linux.
"""

import asyncio
import json
import sys
import tempfile
from collections.abc import Mapping
from contextlib import AsyncExitStack
from pathlib import Path

from benchmarks.figures import Figure, Table, format_amount
from benchmarks.processes import BARE, bare, home, onetool, own_memory, process_tree, running
from benchmarks.wire import stdio_client

SERVERS, CLIENTS = 10, 5
NOTE = (
    "Proportional set size of all processes after each client has called every server once. OneTool's own "
    "processes are the background process, the clients and their workers; the rest are servers and sandboxes."
)


async def measure(servers: int, clients: int) -> Table:
    """Measure both ways, one after the other."""
    command, *args = bare("mcp_server")
    entry = {"command": command, "args": args, "paths": [{"path": str(BARE)}]}
    settings = json.dumps({"servers": {f"s{number}": entry for number in range(servers)}})
    calls = (f"s{number}.echo(message='cal' + 'led')" for number in range(servers))  # no error contains it
    code = f"[{', '.join(calls)}]"
    with tempfile.TemporaryDirectory() as directory:
        separate = await _memory(home(Path(directory, "separate"), settings), code, clients)
        env = home(Path(directory, "shared"), settings)
        await _command(env, "up")
        try:
            shared = await _memory(env, code, clients, await _background_pid(env))
        finally:
            await _command(env, "down")
    title = f"Memory of {clients} clients and {servers} servers"
    table = Table(title, NOTE, ("part", "own servers → shared in the background"))
    for part in ("all processes", "OneTool", "servers", "one client"):
        table.rows.append((part, Figure(separate[part], shared[part], "bytes")))
    if "background process" in shared:
        table.rows.append(("background process", format_amount(shared["background process"], "bytes")))
    return table


async def _memory(
    env: Mapping[str, str], code: str, clients: int, background: int | None = None
) -> dict[str, float]:
    async with AsyncExitStack() as stack:
        pids = []
        for _ in range(clients):
            process = await stack.enter_async_context(running(onetool("mcp"), env, quiet=True))
            client = await stack.enter_async_context(stdio_client(process))
            await client.initialize()
            await client.request("tools/call", {"name": "run", "arguments": {"command": code}}, b"called")
            pids.append(process.pid)
        roots = [*pids, *([background] if background else ())]
        members = {pid for root in roots for pid in process_tree(root)}
        servers = {pid for pid in members if _is_server(pid)}
        memory = {
            "all processes": sum(map(own_memory, members)),
            "OneTool": sum(map(own_memory, members - servers)),
            "servers": sum(map(own_memory, servers)),
            "one client": sum(own_memory(pid) for pid in set(process_tree(pids[0])) - servers),
        }
        return memory | ({"background process": own_memory(background)} if background else {})


def _is_server(pid: int) -> bool:
    try:
        return b"mcp_server.py" in Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:  # it has ended
        return False


async def _command(env: Mapping[str, str], *words: str) -> str:
    process = await asyncio.create_subprocess_exec(*onetool(*words), env=env, stdout=asyncio.subprocess.PIPE)
    output, _ = await process.communicate()
    if process.returncode:
        raise SystemExit(f"onetool {' '.join(words)} exited with code {process.returncode}.")
    return output.decode()


async def _background_pid(env: Mapping[str, str]) -> int:
    return int(json.loads(await _command(env, "status", "--json"))["pid"])


if __name__ == "__main__":
    sizes = [int(word) for word in sys.argv[1:]] + [SERVERS, CLIENTS][len(sys.argv) - 1 :]
    print(asyncio.run(measure(*sizes)).markdown())
