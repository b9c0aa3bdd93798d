"""The worker process of a pack, as the runtime uses it: calls, SDK calls on their behalf, and its end."""

import asyncio
import contextvars
import logging
import os
import signal
import sys
from asyncio.subprocess import PIPE, Process
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from typing import Any

import orjson

from onetool.domain.calls.invocation import Invocation
from onetool.domain.errors import ExecutionError, Reason
from onetool.domain.text.strings import printable
from onetool.threads import Threads

from .inspector import LAUNCHER_MODULE
from .worker_frames import pack_frame, receive_frame
from .worker_values import EncodedValue, decode_value, describe_error, pickle_message, rebuild_error

log = logging.getLogger(__name__)

RunSdk = Callable[[str, Sequence[Any], Mapping[str, Any]], Awaitable[Any]]
"""Runs a function of the SDK by name, as a part of the current call."""
GRACE_S = 5.0
"""Time that a cancelled call has to end, in seconds. Then its worker is replaced."""
STOP_TIMEOUT_S = 1.0
"""Time to exit after stdin is closed, in seconds."""
MAX_DIRECT_BYTES = 65_536
"""Values that are decoded without a thread."""
MAX_STDERR_BYTES = 4_000
"""Last part of what the worker writes to stderr."""
FRAMES_PER_TURN = 50
"""Messages that are handled before other tasks of the event loop run."""
WORKER_MODULE = "onetool.sources.python_packs.worker_process"


@dataclass(slots=True)
class _RunningCall:
    """A call in progress in the worker."""

    invocation: Invocation
    context: contextvars.Context
    end: "asyncio.Future[tuple[dict[str, Any], bytes]]"
    stderr_start: int
    """Bytes that the worker had written to stderr before."""
    requests: dict[int, "asyncio.Task[None]"] = field(default_factory=dict)
    is_cancelled: bool = False


class PackWorker:
    """One worker process. It is not used again after a crash, or if a cancelled call does not end."""

    def __init__(
        self, pack: str, load: Mapping[str, Any], libraries: Path, run_sdk: RunSdk, threads: Threads
    ) -> None:
        """load: the file, its content and the functions of the pack."""
        self._pack, self._load, self._libraries = pack, load, libraries
        self._run_sdk, self._threads = run_sdk, threads
        self._process: Process | None = None
        self._calls: dict[str, _RunningCall] = {}
        self._ids = count(1)
        self._tasks: list[asyncio.Task[None]] = []
        self._stderr, self._stderr_length = b"", 0
        self.is_usable = True
        """Whether it accepts calls."""
        self.has_ended = False
        """Whether the process has ended. Its number may belong to another process since."""

    @property
    def is_idle(self) -> bool:
        """Whether it runs no calls that a caller waits for."""
        return all(call.is_cancelled for call in self._calls.values())

    async def start(self) -> None:
        """Start the process.

        Raises:
            OSError: It cannot be started.
        """
        self._process = process = await asyncio.create_subprocess_exec(
            sys.executable,
            "-P",
            "-m",
            LAUNCHER_MODULE,
            str(self._libraries),
            WORKER_MODULE,
            stdin=PIPE,
            stdout=PIPE,
            stderr=PIPE,
            start_new_session=os.name != "nt",  # Ctrl-C is for the runtime
        )
        self._send(self._load)
        self._tasks = [
            asyncio.create_task(self._receive(process), name=f"worker of pack {self._pack}"),
            asyncio.create_task(self._read_stderr(process), name=f"stderr of pack {self._pack}"),
        ]

    async def call(self, function: str, args: Mapping[str, Any], invocation: Invocation) -> Any:
        """Run a function of the pack and return its output.

        Raises:
            ExecutionError: The process ended.
            BaseException: The function raised it.
        """
        number = str(next(self._ids))
        end = asyncio.get_running_loop().create_future()
        running = _RunningCall(invocation, contextvars.copy_context(), end, self._stderr_length)
        self._calls[number] = running
        self._send(
            {
                "call": number,
                "function": function,
                "args": dict(args),
                "id": invocation.call_id,
                "tool": invocation.tool,
                "deadline": invocation.deadline,
            }
        )
        try:
            header, body = await end
        except asyncio.CancelledError:
            self._cancel(number, running)
            raise
        return await self._output(header, body)

    async def close(self) -> None:
        """Stop the process. Calls in progress fail."""
        self.is_usable = False
        process = self._process
        if process is None:
            return
        if process.stdin is not None:
            process.stdin.close()
        await _wait(process)
        self.kill()
        _, running = await asyncio.wait(self._tasks, timeout=2 * STOP_TIMEOUT_S)
        for task in running:  # a child of the worker may hold its stderr
            task.cancel()

    def kill(self) -> None:
        """End the process and its children at once."""
        self.is_usable = False
        process = self._process
        if process is None or self.has_ended:
            return
        with suppress(ProcessLookupError, PermissionError):
            if os.name == "nt":  # pragma: no cover - Windows has no process groups
                process.kill()
            else:
                os.killpg(process.pid, signal.SIGKILL)

    async def _output(self, header: dict[str, Any], body: bytes) -> Any:
        if "refused" in header:
            reason, message = header["refused"]
            raise ExecutionError(Reason(reason), message)
        if "error" in header:
            exception = header["error"].get("traceback", "")
            log.debug("a function of pack %r raised an exception", self._pack, extra={"exception": exception})
            raise rebuild_error(header["error"])
        return await self._decode(EncodedValue(header, body))

    async def _decode(self, encoded: EncodedValue) -> Any:
        if len(encoded.body) > MAX_DIRECT_BYTES:
            return await self._threads.run(decode_value, encoded)
        return decode_value(encoded)

    def _cancel(self, number: str, running: _RunningCall) -> None:
        running.is_cancelled = True
        for request in running.requests.values():
            request.cancel()
        if number in self._calls:
            self._send({"cancel": number})
            asyncio.get_running_loop().call_later(GRACE_S, self._replace_if_running, number)

    def _replace_if_running(self, number: str) -> None:
        """Stop using a worker whose cancelled call does not end. Its other calls can end first."""
        if number in self._calls:
            self.is_usable = False
            log.warning("worker of pack %r does not react to a cancelled call; it is replaced", self._pack)
            self._kill_if_done()

    def _kill_if_done(self) -> None:
        if not self.is_usable and self.is_idle:
            self.kill()

    def _send(self, message: Mapping[str, Any]) -> None:
        if self._process is not None and self._process.stdin is not None:
            self._process.stdin.write(pack_frame(pickle_message(message)))

    async def _receive(self, process: Process) -> None:
        """Handle messages until the process ends."""
        problem = ""
        try:
            if process.stdout is not None:
                await self._receive_from(process.stdout)
        except asyncio.IncompleteReadError:
            pass
        except Exception as error:  # noqa: BLE001 - the worker may send anything
            problem = f"it sent a malformed message: {error}"
        self.kill()
        await _wait(process)
        self.has_ended = process.returncode is not None
        await asyncio.wait(self._tasks[1:], timeout=STOP_TIMEOUT_S)
        ended = f"The worker process of pack {self._pack!r} ended during the call: "
        ended += problem or describe_exit(process.returncode or 0)
        for running in self._calls.values():
            for request in running.requests.values():
                request.cancel()
            if not running.end.done():
                refused = {"refused": [Reason.UPSTREAM.value, f"{ended}.{self._last_output(running)}"]}
                running.end.set_result((refused, b""))
        self._calls.clear()

    async def _receive_from(self, stream: asyncio.StreamReader) -> None:
        for number in count(1):
            header, body = await receive_frame(stream)
            self._handle(header, body)
            if number % FRAMES_PER_TURN == 0:
                await asyncio.sleep(0)

    def _handle(self, header: dict[str, Any], body: bytes) -> None:
        if "end" in header:
            running = self._calls.pop(header["end"])
            if not running.end.done():
                running.end.set_result((header, body))
            self._kill_if_done()
        elif "sdk" in header:
            self._start_request(header, body)
        elif "drop" in header:
            running_call = self._calls.get(header["call"])
            if running_call is not None and header["drop"] in running_call.requests:
                running_call.requests[header["drop"]].cancel()
        else:
            extra = orjson.loads(header["extra"])
            logging.getLogger(header["log"]).log(header["level"], "%s", header["text"], extra=extra)

    def _start_request(self, header: dict[str, Any], body: bytes) -> None:
        running, number = self._calls.get(header["call"]), header["request"]
        if running is None or running.is_cancelled:
            error = RuntimeError(f"Cannot use {header['sdk']}: the call has ended or was cancelled.")
            deadline = running.invocation.deadline if running else 0.0
            self._send({"request": number, "deadline": deadline, "error": describe_error(error)})
            return
        request = self._answer_request(running, number, header, body)
        task = asyncio.get_running_loop().create_task(request, context=running.context.copy())
        running.requests[number] = task
        task.add_done_callback(lambda task: running.requests.pop(number))

    async def _answer_request(
        self, running: _RunningCall, number: int, header: dict[str, Any], body: bytes
    ) -> None:
        try:
            args, kwargs = await self._decode(EncodedValue(header, body))
            value = await self._run_sdk(header["sdk"], args, kwargs)
            is_scalar = value is None or isinstance(value, bool | int | float)
            pickled = pickle_message(value) if is_scalar else await self._threads.run(pickle_message, value)
            outcome: dict[str, Any] = {"value": pickled}
        except BaseException as error:  # noqa: BLE001 - a nested tool may raise anything, even SystemExit
            outcome = {"error": describe_error(error)}
        self._send({"request": number, "deadline": running.invocation.deadline, **outcome})

    async def _read_stderr(self, process: Process) -> None:
        while process.stderr is not None and (chunk := await process.stderr.read(65_536)):
            self._stderr = (self._stderr + chunk)[-MAX_STDERR_BYTES:]
            self._stderr_length += len(chunk)

    def _last_output(self, running: _RunningCall) -> str:
        """Return what the worker wrote last to stderr, without what it wrote before the call."""
        start = max(0, len(self._stderr) - (self._stderr_length - running.stderr_start))
        output = printable(self._stderr[start:].decode("utf-8", "replace")).strip()
        return f" Its last output:\n{output}" if output else ""


def describe_exit(code: int) -> str:
    """Return how a process ended.

    >>> describe_exit(7), describe_exit(-9), describe_exit(-40)
    ('exit code 7', 'killed by SIGKILL', 'killed by signal 40')
    """
    if code >= 0:
        return f"exit code {code}"
    try:
        return f"killed by {signal.Signals(-code).name}"
    except ValueError:
        return f"killed by signal {-code}"


async def _wait(process: Process) -> None:
    """Wait until a process has ended, but not for children that hold its pipes."""
    with suppress(TimeoutError):
        async with asyncio.timeout(STOP_TIMEOUT_S):
            await process.wait()
