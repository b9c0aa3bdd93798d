"""The start of a stdio server, with a download of its package if it may not use the network."""

import asyncio
import logging
from asyncio.subprocess import Process
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from onetool.files.atomic import write_atomic
from onetool.sources.mcp_servers.errors import ServerUnavailable
from onetool.sources.mcp_servers.sandbox.packages import find_download
from onetool.threads import Threads

from .process import execute, log_stderr, stop
from .program import ServerProgram
from .startup import Startup

DOWNLOAD_TIMEOUT_S = 600.0
CHUNK_BYTES = 2**16


async def start(program: ServerProgram, log: logging.Logger, threads: Threads, startup: Startup) -> Process:
    """Start a program in its own process group, in its sandbox.

    Raises:
        ServerUnavailable: The command cannot be executed, or its package cannot be downloaded.
    """
    env = program.environment()
    try:
        path = await threads.run(program.find, env.get("PATH"))
        startup.add_step("program found", path)
        if program.is_restricted and not program.policy.network:
            env |= await _Download(program, log, threads, startup).run(path, env)
        command = await threads.run(program.wrap, path, env)
        startup.add_step("sandbox", command.restrictions.text)
        process = await execute(command)
    except (OSError, ValueError) as error:
        raise ServerUnavailable(f"cannot start {program.command!r}: {error}") from error
    startup.add_process(process.pid)
    startup.add_step("started", f"process {process.pid}")
    return process


class _Download:
    """Downloads the package of a program, in a sandbox that has the network and no granted paths."""

    def __init__(
        self, program: ServerProgram, log: logging.Logger, threads: Threads, startup: Startup
    ) -> None:
        self._program, self._log, self._threads, self._startup = program, log, threads, startup

    async def run(self, path: str, env: Mapping[str, str]) -> Mapping[str, str]:
        """Download the package once. Return the variables with which the program uses what was downloaded.

        Raises:
            ServerUnavailable: The download failed.
        """
        download = find_download(path, self._program.args)
        if download is None:
            return {}
        done = self._program.policy.home.with_name(f"{self._program.policy.home.name}.downloaded")
        if await self._threads.run(_read_text, done) != download.package:
            await self._execute(download.package, download.argv, env)
            await self._threads.run(write_atomic, done, download.package.encode())
        self._startup.add_step("downloaded", download.package)
        return download.offline_env

    async def _execute(self, package: str, argv: tuple[str, ...], env: Mapping[str, str]) -> None:
        program = replace(
            self._program, args=argv[1:], policy=replace(self._program.policy, network=True, paths=())
        )
        process = await execute(await self._threads.run(program.wrap, argv[0], env))
        self._startup.add_process(process.pid)
        try:
            async with asyncio.timeout(DOWNLOAD_TIMEOUT_S):
                await asyncio.gather(log_stderr(process, self._log, self._startup), _discard(process))
                code = await process.wait()
        except TimeoutError:
            raise ServerUnavailable(f"the download of {package!r} took too long") from None
        finally:
            await stop(process)
        if code:
            raise ServerUnavailable(self._startup.explain(f"the download of {package!r} failed"))


async def _discard(process: Process) -> None:
    while process.stdout is not None and await process.stdout.read(CHUNK_BYTES):
        pass


def _read_text(file: Path) -> str:
    try:
        return file.read_text()
    except OSError:
        return ""
