"""Looks into pack files in a child process: a hang, an exit or a crash there fails one file only."""

import asyncio
import json
import sys
from asyncio.subprocess import DEVNULL, PIPE, Process
from contextlib import suppress
from pathlib import Path
from typing import Any

CHILD = "onetool.sources.python_packs.inspect_child"
PATIENCE = 10.0
"""Seconds that the first import of a file may take."""
LONGEST_ANSWER = 16 * 2**20


class Inspector:
    """One child at a time, started when it is first needed and again when a file has ended it."""

    def __init__(self, patience: float = PATIENCE) -> None:
        self._patience = patience
        self._child: Process | None = None

    async def inspect(self, file: Path, content: bytes) -> dict[str, Any]:
        """Return `{"description": ...}` or `{"error": why}`."""
        try:
            request = json.dumps({"file": str(file), "source": content.decode()}) + "\n"
        except UnicodeDecodeError:
            return {"error": "it is not UTF-8 text"}
        is_fresh = self._child is None
        answer = await self._try(request.encode())
        # A file that was looked into before may have spoilt the child: this one gets a new one.
        return (
            answer if is_fresh or "error" not in answer or self._child else await self._try(request.encode())
        )

    async def _try(self, request: bytes) -> dict[str, Any]:
        try:
            async with asyncio.timeout(self._patience):
                return await self._ask(request)
        except TimeoutError:
            await self.close()
            return {"error": f"importing it took longer than {self._patience:g} s"}
        except (ValueError, OSError):
            await self.close()
            return {"error": "importing it ended the process"}

    async def close(self) -> None:
        """End the child, if there is one."""
        child, self._child = self._child, None
        if child is not None:
            with suppress(ProcessLookupError):
                child.kill()
            await child.wait()

    async def _ask(self, request: bytes) -> dict[str, Any]:
        if self._child is None:
            # -P: a file of the working directory must not stand in for a module that the child imports
            self._child = await asyncio.create_subprocess_exec(
                sys.executable,
                "-P",
                "-m",
                CHILD,
                stdin=PIPE,
                stdout=PIPE,
                stderr=DEVNULL,
                limit=LONGEST_ANSWER,
            )
        stdin, stdout = self._child.stdin, self._child.stdout
        if stdin is None or stdout is None:
            raise ValueError("the child has no pipes")
        stdin.write(request)
        await stdin.drain()
        answer: dict[str, Any] = json.loads(await stdout.readline())
        return answer
