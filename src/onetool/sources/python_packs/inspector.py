"""Inspection of pack files in a child process: a hang, an exit or a crash affects one file only."""

import asyncio
import json
import sys
from asyncio.subprocess import DEVNULL, PIPE, Process
from contextlib import suppress
from pathlib import Path
from typing import Any

CHILD_MODULE = "onetool.sources.python_packs.inspector_process"
LAUNCHER_MODULE = "onetool.sources.python_packs.launcher"
TIMEOUT_S = 10.0
"""Time limit for importing one file, in seconds."""
MAX_RESPONSE_LENGTH = 16 * 2**20


class PackInspector:
    """Runs one child process, started on demand and again after a file ended it."""

    def __init__(self, timeout_s: float | None = None, libraries: Path | None = None) -> None:
        """libraries: a directory with the libraries of the files; None if they have none of their own."""
        self._timeout_s = timeout_s or TIMEOUT_S
        self._module = (
            [CHILD_MODULE] if libraries is None else [LAUNCHER_MODULE, str(libraries), CHILD_MODULE]
        )
        self._child: Process | None = None

    async def inspect(self, file: Path, content: bytes) -> dict[str, Any]:
        """Return `{"description": ...}` or `{"error": reason}`."""
        try:
            request = json.dumps({"file": str(file), "source": content.decode()}) + "\n"
        except UnicodeDecodeError:
            return {"error": "not UTF-8 text"}
        is_new_child = self._child is None
        result = await self._try(request.encode())
        # A file inspected earlier may have broken the child: retry in a new one.
        has_ended = "error" in result and self._child is None
        return await self._try(request.encode()) if has_ended and not is_new_child else result

    async def _try(self, request: bytes) -> dict[str, Any]:
        try:
            async with asyncio.timeout(self._timeout_s):
                return await self._send(request)
        except TimeoutError:
            await self.close()
            return {"error": f"import took longer than {self._timeout_s:g} s"}
        except (ValueError, OSError):
            await self.close()
            return {"error": "import ended the process"}

    async def close(self) -> None:
        """Kill the child process if there is one."""
        child, self._child = self._child, None
        if child is not None:
            with suppress(ProcessLookupError):
                child.kill()
            await child.wait()

    async def _send(self, request: bytes) -> dict[str, Any]:
        if self._child is None:
            # -P: a file in the working directory must not shadow a module that the child imports
            self._child = await asyncio.create_subprocess_exec(
                sys.executable,
                "-P",
                "-m",
                *self._module,
                stdin=PIPE,
                stdout=PIPE,
                stderr=DEVNULL,
                limit=MAX_RESPONSE_LENGTH,
            )
        stdin, stdout = self._child.stdin, self._child.stdout
        if stdin is None or stdout is None:
            raise ValueError("The child process has no pipes.")
        stdin.write(request)
        await stdin.drain()
        result: dict[str, Any] = json.loads(await stdout.readline())
        return result
