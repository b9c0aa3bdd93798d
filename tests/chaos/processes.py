"""The servers and the worker of a run as processes, and the resources that they use."""

import asyncio
import os
import signal
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

import httpx2

from chaos.servers import free_port
from support.processes import descendants
from support.waiting import HANG_S

START_S = 240.0
POLL_S, RESTART_S = 0.1, 1.0
PROBE_S = 2.0
STOP_S = 60.0
PAGE = os.sysconf("SC_PAGE_SIZE")


class Usage(NamedTuple):
    """What a process uses."""

    files: int
    threads: int
    rss_mb: float
    children: int


class OneToolProcess:
    """`onetool serve --hosted` or `onetool worker`, which can be killed, frozen and started again."""

    def __init__(self, name: str, folder: Path, command: list[str], env: Mapping[str, str]) -> None:
        address = f"127.0.0.1:{free_port()}"
        self.name, self.folder, self.command = name, folder, [*command, "--metrics", address]
        self.env, self._metrics_url = dict(env), f"http://{address}/metrics"
        self.process: subprocess.Popen[bytes] | None = None
        self.is_frozen = False
        self._log_start = 0
        """Where the output of the current process begins in the log."""
        (folder / "work").mkdir(parents=True)

    async def start(self) -> None:
        """Start the process, and wait until it serves. Like a supervisor, start it again if it ends."""
        self._spawn()
        try:
            async with asyncio.timeout(START_S):
                while not await self.is_ready():
                    await asyncio.sleep(POLL_S)
                    if not self.is_running:  # for example because the database is away
                        await asyncio.sleep(RESTART_S)
                        self._spawn()
        except TimeoutError:
            raise RuntimeError(f"{self.name} does not start: {self.log_end()}") from None

    def _spawn(self) -> None:
        directories = {
            f"ONETOOL_{name.upper()}_DIR": str(self.folder / name) for name in ("config", "data", "state")
        }
        with (self.folder / "log").open("ab") as log:
            self._log_start = log.tell()
            self.process = subprocess.Popen(
                [sys.executable, "-m", "onetool", *self.command],
                env=os.environ | directories | self.env,
                cwd=self.folder / "work",
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
            )

    async def is_ready(self) -> bool:
        """Return whether it has begun to serve."""
        return b"OneTool runs queued jobs." in (self.folder / "log").read_bytes()[self._log_start :]

    @property
    def pid(self) -> int:
        """The id of the process."""
        assert self.process
        return self.process.pid

    @property
    def is_running(self) -> bool:
        """Whether the process exists."""
        return self.process is not None and self.process.poll() is None

    async def kill(self) -> None:
        """Kill the process, without a chance to clean up."""
        assert self.process
        self.process.kill()
        await asyncio.to_thread(self.process.wait, STOP_S)
        self.is_frozen = False

    async def terminate(self) -> int:
        """Ask the process to end, and return its exit code."""
        assert self.process
        self.process.terminate()
        try:
            return await asyncio.to_thread(self.process.wait, STOP_S)
        except subprocess.TimeoutExpired:
            await self.kill()
            return -signal.SIGKILL

    def freeze(self) -> None:
        """Let the process hang."""
        assert self.process
        self.process.send_signal(signal.SIGSTOP)
        self.is_frozen = True

    def thaw(self) -> None:
        """Let a hanging process continue."""
        assert self.process
        self.process.send_signal(signal.SIGCONT)
        self.is_frozen = False

    async def close(self) -> None:
        """End the process."""
        if self.is_running:
            if self.is_frozen:
                self.thaw()
            await self.terminate()

    def usage(self) -> Usage:
        """Return what the process uses now."""
        place = Path(f"/proc/{self.pid}")
        pages = int((place / "statm").read_text().split()[1])
        return Usage(
            len(list((place / "fd").iterdir())),
            len(list((place / "task").iterdir())),
            round(pages * PAGE / 2**20, 1),
            len(descendants(self.pid)),
        )

    async def tasks(self) -> int:
        """Return how many tasks its event loop has."""
        async with httpx2.AsyncClient(trust_env=False, timeout=HANG_S) as http:
            text = (await http.get(self._metrics_url)).text
        return int(float(text.partition("\nonetool_tasks ")[2].partition("\n")[0]))

    def log_end(self) -> str:
        """Return the end of what the process has written."""
        return (self.folder / "log").read_text(errors="replace")[-2_000:]


class ServerProcess(OneToolProcess):
    """`onetool serve --hosted` at a port that stays the same."""

    def __init__(self, name: str, folder: Path, port: int, env: Mapping[str, str]) -> None:
        super().__init__(name, folder, ["serve", "--hosted", "--port", str(port)], env)
        self.port, self.url = port, f"http://127.0.0.1:{port}"
        self._http = httpx2.AsyncClient(verify=False, trust_env=False, timeout=PROBE_S)

    async def is_ready(self) -> bool:
        return await self.status() in ("ok", "degraded")

    async def status(self) -> str:
        """Return the status at `/readyz`; empty if there is no response."""
        try:
            return str((await self._http.get(f"{self.url}/readyz")).json()["status"])
        except (httpx2.TransportError, ValueError, KeyError):
            return ""


class WorkerProcess(OneToolProcess):
    """`onetool worker`."""

    def __init__(self, folder: Path, env: Mapping[str, str]) -> None:
        super().__init__("worker", folder, ["worker", "--grace", "5"], env)
