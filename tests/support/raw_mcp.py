"""An MCP client over the pipes of `onetool mcp`, or of another server, with raw messages."""

import json
import queue
import signal
import subprocess
import threading
from collections.abc import Mapping, Sequence
from contextlib import suppress
from itertools import count
from typing import Any

from support.mcp_client import child_env
from support.onetool_process import start_command
from support.waiting import HANG_S

LEGACY, MODERN = "2025-11-25", "2026-07-28"
CLIENT_INFO = {"name": "raw", "version": "1"}
META_PREFIX = "io.modelcontextprotocol"
HTTP_HEADERS = {"Accept": "application/json, text/event-stream"}
"""What a client over HTTP sends with every message."""
INITIALIZE = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "initialize",
    "params": {"protocolVersion": LEGACY, "capabilities": {}, "clientInfo": CLIENT_INFO},
}


class RawMcpClient:
    """A client for one protocol version that fails on output that is not JSON-RPC."""

    def __init__(
        self,
        version: str,
        env: Mapping[str, str],
        cwd: Any = None,
        command: Sequence[str] = ("onetool", "mcp"),
    ) -> None:
        self.version = version
        self.notifications: list[dict[str, Any]] = []
        self.unexpected_responses: list[dict[str, Any]] = []
        """Responses to no pending request."""
        self._ids = count(1)
        self._lines: queue.Queue[bytes] = queue.Queue()
        pipes: Any = dict.fromkeys(("stdin", "stdout", "stderr"), subprocess.PIPE)
        self.process = start_command(command, env=child_env(**env), cwd=cwd, **pipes)
        self._threads = [threading.Thread(target=target) for target in (self._read, self._read_errors)]
        self.errors = b""
        for thread in self._threads:
            thread.start()

    def initialize(self) -> dict[str, Any]:
        """Open the connection as the version requires: with a handshake or with `server/discover`."""
        if self.version == MODERN:
            return self.request("server/discover")["result"]
        params = {"protocolVersion": self.version, "capabilities": {}, "clientInfo": CLIENT_INFO}
        result = self.request("initialize", **params)["result"]
        self.notify("notifications/initialized")
        return result

    def write(self, line: bytes) -> None:
        """Write a line unchanged."""
        assert self.process.stdin
        self.process.stdin.write(line + b"\n")
        self.process.stdin.flush()

    def notify(self, method: str, **params: Any) -> None:
        """Send a notification."""
        self.write(
            json.dumps({"jsonrpc": "2.0", "method": method, "params": self._add_meta(params)}).encode()
        )

    def send(self, method: str, **params: Any) -> int:
        """Send a request and return its id."""
        number = next(self._ids)
        message = {"jsonrpc": "2.0", "id": number, "method": method, "params": self._add_meta(params)}
        self.write(json.dumps(message).encode())
        return number

    def request(self, method: str, **params: Any) -> dict[str, Any]:
        """Send a request and return its response."""
        return self.wait_for_response(self.send(method, **params))

    def run(self, command: str, **meta: Any) -> tuple[bool, str]:
        """Call the tool `run`; return whether it failed, and its text."""
        params = {"name": "run", "arguments": {"command": command}} | ({"_meta": meta} if meta else {})
        result = self.request("tools/call", **params)["result"]
        (part,) = result["content"]
        assert part["type"] == "text"
        return bool(result.get("isError")), part["text"]

    def wait_for_response(self, number: int | None) -> dict[str, Any]:
        """Return the response to one request; store other messages."""
        while True:
            message = self.receive()
            if "method" in message:
                assert "id" not in message, "the server sent a request, but the client has no capabilities"
                self.notifications.append(message)
            elif message["id"] == number:
                return message
            else:
                self.unexpected_responses.append(message)

    def receive(self) -> dict[str, Any]:
        """Return the next line, which must be a JSON-RPC message."""
        line = self._lines.get(timeout=HANG_S)
        assert line.endswith(b"\n"), f"stdout ended: {line!r}, stderr: {self.errors!r}"
        message = json.loads(line)
        assert message["jsonrpc"] == "2.0"
        return message

    def close(self) -> int:
        """Close stdin and return the exit code."""
        assert self.process.stdin
        self.process.stdin.close()
        return self._wait_for_exit()

    def terminate(self) -> int:
        """Send SIGTERM and return the exit code."""
        self.process.send_signal(signal.SIGTERM)
        code = self._wait_for_exit()
        assert self.process.stdin
        self.process.stdin.close()
        return code

    def remaining_messages(self) -> list[dict[str, Any]]:
        """Return the unread messages; stdout must be closed."""
        lines = list(self._lines.queue)
        assert lines.pop() == b""
        return [json.loads(line) for line in lines]

    def kill(self) -> None:
        """Kill the process if it still runs, and release its pipes."""
        self.process.kill()
        self._wait_for_exit()
        with suppress(OSError):  # unsent data cannot be flushed
            assert self.process.stdin
            self.process.stdin.close()

    def _wait_for_exit(self) -> int:
        code = self.process.wait(HANG_S)
        for thread in self._threads:
            thread.join(HANG_S)
        return code

    def _add_meta(self, params: dict[str, Any]) -> dict[str, Any]:
        if self.version != MODERN:
            return params
        fields = {"protocolVersion": MODERN, "clientInfo": CLIENT_INFO, "clientCapabilities": {}}
        meta = {f"{META_PREFIX}/{name}": value for name, value in fields.items()}
        return params | {"_meta": meta | params.get("_meta", {})}

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
