"""MCP by hand over the pipes of `onetool mcp`: what is written and read is seen to the byte."""

import json
import queue
import signal
import subprocess
import sys
import threading
from collections.abc import Mapping
from contextlib import suppress
from itertools import count
from typing import Any

from mcp_door import own_env

MODERN = "2026-07-28"
PATIENCE = 20.0
ABOUT = {"name": "by hand", "version": "1"}
RESERVED = "io.modelcontextprotocol"


class Peer:
    """A client that speaks one version of the protocol, and believes nothing that is not JSON-RPC."""

    def __init__(self, version: str, env: Mapping[str, str], cwd: Any = None) -> None:
        self.version = version
        self.notices: list[dict[str, Any]] = []
        self.strays: list[dict[str, Any]] = []
        """Answers that nobody was waiting for."""
        self._ids = count(1)
        self._lines: queue.Queue[bytes] = queue.Queue()
        self.process = subprocess.Popen(
            [sys.executable, "-m", "onetool", "mcp"],
            env=own_env(**env),
            cwd=cwd,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
        self._threads = [threading.Thread(target=it) for it in (self._read, self._read_errors)]
        self.errors = b""
        for thread in self._threads:
            thread.start()

    def greet(self) -> dict[str, Any]:
        """Begin as this version does: with a handshake, or by asking what the server speaks."""
        if self.version == MODERN:
            return self.ask("server/discover")["result"]
        hello = {"protocolVersion": self.version, "capabilities": {}, "clientInfo": ABOUT}
        answer = self.ask("initialize", **hello)["result"]
        self.tell("notifications/initialized")
        return answer

    def write(self, line: bytes) -> None:
        """Write bytes, as they are."""
        assert self.process.stdin
        self.process.stdin.write(line + b"\n")
        self.process.stdin.flush()

    def tell(self, method: str, **params: Any) -> None:
        """Send what has no answer."""
        self.write(json.dumps({"jsonrpc": "2.0", "method": method, "params": self._with(params)}).encode())

    def send(self, method: str, **params: Any) -> int:
        """Send a request; return its id."""
        number = next(self._ids)
        message = {"jsonrpc": "2.0", "id": number, "method": method, "params": self._with(params)}
        self.write(json.dumps(message).encode())
        return number

    def ask(self, method: str, **params: Any) -> dict[str, Any]:
        """Send a request, and wait for its answer."""
        return self.answer_to(self.send(method, **params))

    def run(self, command: str, **meta: Any) -> tuple[bool, str]:
        """Call `run`; whether it failed, and its one text."""
        params = {"name": "run", "arguments": {"command": command}} | ({"_meta": meta} if meta else {})
        result = self.ask("tools/call", **params)["result"]
        (part,) = result["content"]
        assert part["type"] == "text"
        return bool(result.get("isError")), part["text"]

    def answer_to(self, number: int | None) -> dict[str, Any]:
        """Wait for one answer; keep what else comes."""
        while True:
            message = self.receive()
            if "method" in message:
                assert "id" not in message, "nothing was offered that the server could ask for"
                self.notices.append(message)
            elif message["id"] == number:
                return message
            else:
                self.strays.append(message)

    def receive(self) -> dict[str, Any]:
        """The next line, which must be a message."""
        line = self._lines.get(timeout=PATIENCE)
        assert line.endswith(b"\n"), f"stdout ended: {line!r}, stderr: {self.errors!r}"
        message = json.loads(line)
        assert message["jsonrpc"] == "2.0"
        return message

    def leave(self) -> int:
        """Close stdin; return the exit code."""
        assert self.process.stdin
        self.process.stdin.close()
        return self._ended()

    def terminate(self) -> int:
        """End it as a service manager does; return the exit code."""
        self.process.send_signal(signal.SIGTERM)
        code = self._ended()
        assert self.process.stdin
        self.process.stdin.close()
        return code

    def rest(self) -> list[dict[str, Any]]:
        """Messages that came until stdout was closed, which it must have been."""
        lines = list(self._lines.queue)
        assert lines.pop() == b""
        return [json.loads(line) for line in lines]

    def kill(self) -> None:
        """Leave nothing behind, whatever has happened."""
        self.process.kill()
        self._ended()
        with suppress(OSError):  # what was not sent yet finds no reader
            assert self.process.stdin
            self.process.stdin.close()

    def _ended(self) -> int:
        code = self.process.wait(PATIENCE)
        for thread in self._threads:
            thread.join(PATIENCE)
        return code

    def _with(self, params: dict[str, Any]) -> dict[str, Any]:
        if self.version != MODERN:
            return params
        known = {"protocolVersion": MODERN, "clientInfo": ABOUT, "clientCapabilities": {}}
        envelope = {f"{RESERVED}/{name}": value for name, value in known.items()}
        return params | {"_meta": envelope | params.get("_meta", {})}

    def _read(self) -> None:
        assert self.process.stdout
        with self.process.stdout as output:
            for line in output:
                self._lines.put(line)
        self._lines.put(b"")

    def _read_errors(self) -> None:
        assert self.process.stderr
        with self.process.stderr as errors:
            for line in errors:
                self.errors += line
