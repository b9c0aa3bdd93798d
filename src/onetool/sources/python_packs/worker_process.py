"""The worker process of a pack: runs its functions with its own libraries.

The runtime sends pickled messages: `load` once, `call`, `cancel`, and responses with a `request`. The worker
sends JSON headers with bodies: `sdk` for a call of the SDK, `drop` if it does not need the response any more,
`end` of a call, and `log`. It ends when its stdin does.
"""

import asyncio
import logging
import os
import pickle
import sys
import threading
import traceback
from collections.abc import Mapping, Sequence
from concurrent.futures import Future
from contextlib import suppress
from itertools import count
from pathlib import Path
from typing import Any, BinaryIO

import orjson

from onetool.domain.calls.caller import Caller
from onetool.domain.calls.forwarding import FORWARDER
from onetool.domain.calls.invocation import CancelFlag, Invocation
from onetool.domain.calls.pauses import Pauses
from onetool.domain.errors import Reason
from onetool.domain.text.json_text import TooLarge, is_small, jsonable
from onetool.threads import Threads

from .pack_file import FunctionRunner, PackFile, execute
from .worker_frames import MAX_BODY_BYTES, pack_frame, read_frame
from .worker_values import EncodedValue, brief_error, describe_error, encodable, encode_value, rebuild_error

MAX_LOG_LENGTH = 10_000
MAX_DIRECT_BYTES = 16_384
"""Results that are sent without a thread."""
RECORD_FIELDS = ("span", "duration", "status", "error", "inputs")
"""Fields that `LogSpan` adds to a log record."""


class _Channel:
    """The pipe to the runtime. Thread-safe."""

    def __init__(self, stream: BinaryIO) -> None:
        self._stream, self._lock = stream, threading.Lock()
        self._ids = count(1)
        self._pending: dict[int, tuple[Future[Any], _WorkerPauses]] = {}

    def send(self, header: Mapping[str, Any], body: bytes = b"") -> None:
        """Send one message. Waits while the runtime is behind."""
        frame = pack_frame(orjson.dumps(header), body)
        with self._lock:
            self._stream.write(frame)
            self._stream.flush()

    def request(
        self, call: str, pauses: "_WorkerPauses", name: str, args: Sequence[Any], kwargs: Mapping[str, Any]
    ) -> tuple[int, "Future[Any]"]:
        """Send a call of the SDK, and return its number. The future has what it returns or raises."""
        encoded = encode_value([list(args), dict(kwargs)], MAX_BODY_BYTES)
        future: Future[Any] = Future()
        number = next(self._ids)
        self._pending[number] = future, pauses
        self.send({"sdk": name, "call": call, "request": number, **encoded.header}, encoded.body)
        return number, future

    def resolve(self, message: Mapping[str, Any]) -> None:
        """Set the result of a request."""
        future, pauses = self._pending.pop(message["request"])
        pauses.total = max(pauses.total, message["deadline"] - pauses.first_deadline)
        if not future.set_running_or_notify_cancel():
            return
        if "error" in message:
            future.set_exception(rebuild_error(message["error"]))
            return
        try:
            value = pickle.loads(message["value"])  # noqa: S301 - the runtime sent it
        except BaseException as error:  # noqa: BLE001 - a library of the pack may change how a type is loaded
            future.set_exception(error)
        else:
            future.set_result(value)


class _WorkerPauses(Pauses):
    """How much later the deadline of a call has become, as the runtime last reported it."""

    __slots__ = ("first_deadline", "total")

    def __init__(self, first_deadline: float) -> None:
        super().__init__()
        self.first_deadline, self.total = first_deadline, 0.0

    @property
    def seconds(self) -> float:
        """How long the call has waited so far."""
        return self.total


class _CallForwarder:
    """Forwards the SDK calls of one call to the runtime."""

    def __init__(self, channel: _Channel, call: str, pauses: _WorkerPauses) -> None:
        self._channel, self._call, self._pauses = channel, call, pauses

    def call(self, name: str, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:
        """Send a call of the SDK, and wait."""
        return self._channel.request(self._call, self._pauses, name, args, kwargs)[1].result()

    async def call_async(self, name: str, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:
        """Send a call of the SDK, and await it."""
        number, future = self._channel.request(self._call, self._pauses, name, args, kwargs)
        try:
            return await asyncio.wrap_future(future)
        except asyncio.CancelledError:
            self._channel.send({"drop": number, "call": self._call})
            raise


class _LogForwarder(logging.Handler):
    """Sends log records to the runtime, which writes and redacts them."""

    def __init__(self, channel: _Channel) -> None:
        super().__init__(logging.INFO)
        self._channel = channel

    def emit(self, record: logging.LogRecord) -> None:
        """Send one record."""
        with suppress(Exception):  # a record that cannot be formatted or encoded must not fail the tool
            text = encodable(str(jsonable(record.getMessage()))[:MAX_LOG_LENGTH])
            fields = {name: vars(record)[name] for name in RECORD_FIELDS if name in vars(record)}
            extra = encode_value(fields, MAX_LOG_LENGTH).body.decode()
            self._channel.send(
                {"log": record.name[:200], "level": record.levelno, "text": text, "extra": extra}
            )


class PackProcess:
    """The functions of one pack and their calls in progress."""

    def __init__(self, channel: _Channel) -> None:
        self._channel, self._threads = channel, Threads()
        self._runners: dict[str, FunctionRunner] = {}
        self._calls: dict[str, tuple[asyncio.Task[None], CancelFlag, FunctionRunner]] = {}

    def handle(self, message: Mapping[str, Any]) -> None:
        """Handle a message, on the event loop."""
        if "load" in message:
            file = Path(message["load"])
            load = execute(file, message["source"], message["digest"])
            pack = PackFile(load, path=file, has_metadata=True)
            tools = message["tools"]
            self._runners = {entry["name"]: FunctionRunner(pack, entry, self._threads) for entry in tools}
        elif "call" in message:
            self._start(message)
        elif message["cancel"] in self._calls:
            task, flag, runner = self._calls[message["cancel"]]
            flag.is_set = True
            if runner.is_async:  # a thread cannot be stopped: its call ends when it does
                task.cancel()

    def _start(self, message: Mapping[str, Any]) -> None:
        call, deadline, flag = message["call"], message["deadline"], CancelFlag()
        pauses = _WorkerPauses(deadline)
        forwarder = _CallForwarder(self._channel, call, pauses)

        def report(done: float, total: float | None, text: str) -> None:
            forwarder.call("report_progress", (done, total, text), {})

        caller = Caller(interface="python", on_progress=report, deadline=deadline, pauses=pauses)
        invocation = Invocation(message["id"], message["tool"], message["args"], caller, deadline, flag)
        runner = self._runners[message["function"]]
        task = asyncio.create_task(self._run(call, runner, invocation, forwarder))
        self._calls[call] = task, flag, runner

    async def _run(
        self, call: str, runner: FunctionRunner, invocation: Invocation, forwarder: _CallForwarder
    ) -> None:
        FORWARDER.set(forwarder)
        try:
            header, body = await self._outcome(runner, invocation)
        except BaseException as error:  # noqa: BLE001 - a tool may raise anything, even SystemExit
            header, body = {"error": describe_error(error)}, b""
        del self._calls[call]
        try:
            if len(body) <= MAX_DIRECT_BYTES:
                self._channel.send({"end": call, **header}, body)
            else:
                await self._threads.run(self._channel.send, {"end": call, **header}, body)
        except Exception as error:  # noqa: BLE001 - a call without an end would wait until its deadline
            self._channel.send({"end": call, "error": brief_error(error)})

    async def _outcome(self, runner: FunctionRunner, invocation: Invocation) -> EncodedValue:
        output = await runner.run(invocation.args, invocation)
        try:
            if is_small(output):
                return encode_value(output, MAX_BODY_BYTES)
            return await self._threads.run(encode_value, output, MAX_BODY_BYTES)
        except TooLarge as error:
            refusal = Reason.TOO_LARGE_OUT, f"{invocation.tool} returned a value {error}."
        except BaseException as error:  # noqa: BLE001 - converting a foreign object may raise anything
            text = describe_error(error)
            refusal = (
                Reason.BAD_OUTPUT,
                (
                    f"{invocation.tool} returned a value that cannot be serialized as JSON: "
                    f"{text['type']}: {text['text']}"
                ),
            )
        return EncodedValue({"refused": list(refusal)}, b"")


def main() -> None:
    """Serve until stdin ends. What the pack prints goes to stderr, because stdout carries the messages."""
    requests, responses = os.fdopen(os.dup(0), "rb"), os.fdopen(os.dup(1), "wb")
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    os.dup2(2, 1)
    sys.stdin, sys.stdout = open(os.devnull), sys.stderr  # noqa: SIM115, PTH123 - for the whole process
    channel = _Channel(responses)
    logging.basicConfig(level=logging.INFO, handlers=[_LogForwarder(channel)])
    asyncio.run(_serve(requests, channel))


async def _serve(requests: BinaryIO, channel: _Channel) -> None:
    process, loop = PackProcess(channel), asyncio.get_running_loop()

    def read() -> None:
        """Read on a thread of its own: responses must arrive while a tool blocks the event loop."""
        try:
            while True:
                message = pickle.loads(read_frame(requests.read)[0])  # noqa: S301 - the runtime sent it
                if "request" in message:
                    channel.resolve(message)
                else:
                    loop.call_soon_threadsafe(process.handle, message)
        except EOFError:
            os._exit(0)  # the runtime has ended, or closed the pipe
        except BaseException:  # noqa: BLE001 - the runtime shows what was written last
            traceback.print_exc()
            sys.stderr.flush()
            os._exit(1)

    threading.Thread(target=read, name="onetool-requests", daemon=True).start()
    await asyncio.Event().wait()


if __name__ == "__main__":
    main()
