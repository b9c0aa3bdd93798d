"""The process of a session: it holds the home, the API and the MCP client of a task."""

import asyncio
import json
import shutil
import sys
from contextlib import suppress
from dataclasses import asdict
from pathlib import Path
from typing import Any

from benchmarks.agents.checks import passes
from benchmarks.agents.home import AgentHome, open_home
from benchmarks.agents.mcp_client import AgentClient, open_client
from benchmarks.agents.results_page import write_page
from benchmarks.agents.servers import Entries, load_entries
from benchmarks.agents.session import MAX_MESSAGE_BYTES, SOCKET
from benchmarks.agents.tasks import Task, load_tasks
from benchmarks.agents.transcript import RESULTS, CallRecord, Transcript
from benchmarks.token_counts import Tokenizer

IDLE_LIMIT_S = 3_600.0


class SessionHost:
    """Makes the calls of a session, and ends it with an answer."""

    def __init__(
        self, task: Task, home: AgentHome, client: AgentClient, transcript: Transcript, results: Path
    ) -> None:
        self._task, self._home, self._client, self._transcript = task, home, client, transcript
        self._results = results
        self._requests: asyncio.Queue[dict[str, Any]] = asyncio.Queue()

    async def serve(self) -> None:
        """Respond to requests until the task is answered, or none has come for an hour."""
        socket = self._home.root / SOCKET
        async with await asyncio.start_unix_server(self._handle, socket, limit=MAX_MESSAGE_BYTES):
            request: dict[str, Any] = {}
            while "answer" not in request:
                async with asyncio.timeout(IDLE_LIMIT_S):
                    request = await self._requests.get()

    async def _handle(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        request = json.loads(await reader.readline())
        try:
            reply = await self._respond(request)
        except Exception as error:  # noqa: BLE001  # the driver must learn of it
            reply = {"error": f"{type(error).__name__}: {error}"}
        writer.write(json.dumps(reply).encode() + b"\n")
        await writer.drain()
        writer.close()
        await writer.wait_closed()
        self._requests.put_nowait(request)

    async def _respond(self, request: dict[str, Any]) -> dict[str, Any]:
        if "tool" in request:
            return await self._call(request["tool"], request["args"])
        if "answer" in request:
            return self._end(request["answer"])
        shown = {"system": self._client.system, "tools": self._client.tools_json}
        return shown | {"prompt": self._task.prompt}

    async def _call(self, name: str, args: dict[str, Any]) -> dict[str, Any]:
        reply, calls = await self._client.call_tool(name, args), self._transcript.calls
        calls.append(
            CallRecord(turn=len(calls) + 1, name=name, args=args, reply=reply.text, failed=reply.failed)
        )
        return reply._asdict()

    def _end(self, answer: str) -> dict[str, Any]:
        self._transcript.answer, tokenizer = answer, Tokenizer()
        success = passes(self._task.checks, self._home.root, answer)
        figures = self._transcript.figures(success, tokenizer)
        file = self._transcript.write(figures, tokenizer.name, self._results)
        write_page(self._results)
        return {"file": str(file), **asdict(figures)}


async def host(
    root: Path, task: Task, mode: str, provider: str, entries: Entries, results: Path = RESULTS
) -> None:
    """Open the home and the client of a session, and serve it."""
    home = AgentHome(root)
    with open_home(home, task, entries):
        async with open_client(home, mode) as client:
            transcript = Transcript(
                task=task.id,
                mode=mode,
                provider=provider,
                model="",
                system=client.system,
                tools=client.tools_json,
                prompt=task.prompt,
                root=str(home.root),
            )
            await SessionHost(task, home, client, transcript, results).serve()


def main(task: str, mode: str, provider: str, folder: str) -> None:
    """Serve a session, and delete its home afterwards."""
    root = Path(folder)
    try:
        with suppress(TimeoutError):
            asyncio.run(host(root, load_tasks()[task], mode, provider, load_entries()))
    finally:
        shutil.rmtree(root, ignore_errors=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
