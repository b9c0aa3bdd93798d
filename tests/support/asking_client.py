"""MCP clients of both protocol versions, over stdio and HTTP, that record and answer questions."""

import http.client
import json
import subprocess
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Future
from contextlib import closing, suppress
from itertools import count
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from support.mcp_client import child_env
from support.onetool_process import start_command
from support.raw_mcp import CLIENT_INFO, LEGACY, META_PREFIX, MODERN
from support.waiting import HANG_S

Message = dict[str, Any]
Answer = Callable[[Message], Message]
FORM: Message = {"elicitation": {"form": {}}}
FORM_AND_URL: Message = {"elicitation": {"form": {}, "url": {}}}
DECLINE: Message = {"action": "decline"}
CANCEL: Message = {"action": "cancel"}
URL_REQUIRED = -32042
NAME_PARAMS = {"tools/call": "name", "prompts/get": "name", "resources/read": "uri"}
NAME_PARAMS |= {f"tasks/{method}": "taskId" for method in ("get", "update", "cancel")}
"""The parameter that a header repeats, by method."""


def accept(**content: Any) -> Message:
    """Return the answer that accepts a form with these fields, or a page if there are none."""
    return {"action": "accept"} | ({"content": content} if content else {})


def message_of(question: Message) -> str:
    """Return what the user reads."""
    return str(question["params"].get("message", ""))


def is_approval(question: Message) -> bool:
    """Return whether a question is OneTool's own form for an approval."""
    schema = question["params"].get("requestedSchema") or {}
    return "allow" in schema.get("properties", {})


def changed_at(text: str, position: int) -> str:
    """Return a text with another character at a position."""
    index = position % len(text)
    return text[:index] + ("A" if text[index] != "A" else "B") + text[index + 1 :]


def in_turn(*answers: Message) -> Answer:
    """Return a function that gives these answers one after the other and fails on a further question."""
    left, lock = list(answers), threading.Lock()

    def answer(question: Message) -> Message:
        with lock:
            assert left, f"a question too many: {question}"
            return left.pop(0)

    return answer


class StdioTransport:
    """The pipes of a process. Its stderr is appended to a file.

    A transport passes every message that arrives to a function, on any thread.
    """

    def __init__(self, command: Sequence[str], errors: Path, env: Mapping[str, str], cwd: Any = None) -> None:
        self.errors = errors
        with errors.open("ab") as stderr:
            self.process = start_command(
                command,
                env=child_env(**env),
                cwd=cwd,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=stderr,
            )
        self._lock = threading.Lock()

    def open(self, receive: Callable[[Message], None]) -> None:
        self._reader = threading.Thread(target=self._read, args=(receive,))
        self._reader.start()

    def send(self, message: Message) -> None:
        assert self.process.stdin
        with self._lock:
            self.process.stdin.write(json.dumps(message).encode() + b"\n")
            self.process.stdin.flush()

    def cancel(self, request_id: int) -> None:
        params = {"requestId": request_id}
        self.send({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": params})

    def close(self) -> None:
        """Close stdin; the process must end."""
        assert self.process.stdin
        with suppress(OSError):
            self.process.stdin.close()
        try:
            self.process.wait(HANG_S)
        finally:
            self.process.kill()
            self.process.wait()
            self._reader.join(HANG_S)

    def _read(self, receive: Callable[[Message], None]) -> None:
        assert self.process.stdout
        with self.process.stdout as lines:
            for line in lines:
                receive(json.loads(line))
        receive({"closed": f"stdout ended; stderr: {self.errors.read_text()[-2000:]}"})


class HttpTransport:
    """Streamable HTTP: one connection for each message that is sent."""

    def __init__(self, url: str, version: str, token: str = "") -> None:
        self._url, self._version, self._token = urlsplit(url), version, token
        self.session = ""
        self._sockets: dict[Any, Any] = {}
        self._threads: list[threading.Thread] = []

    def open(self, receive: Callable[[Message], None]) -> None:
        self._receive = receive

    def send(self, message: Message) -> None:
        if "method" in message and "id" in message:
            thread = threading.Thread(target=self._exchange, args=(message,), daemon=True)
            self._threads.append(thread)
            thread.start()
        else:
            self._exchange(message)

    def route_to(self, url: str) -> None:
        """Send what follows to another URL."""
        self._url = urlsplit(url)

    def listen(self) -> None:
        """Open the stream of notices of an earlier client, and receive what it contains."""
        connection = http.client.HTTPConnection(self._url.netloc, timeout=HANG_S)
        connection.request("GET", self._url.path, headers=self._headers({}))
        self._sockets["GET"] = connection.sock
        response = connection.getresponse()
        assert response.status == 200, response.read()

        def read() -> None:
            with closing(connection), response, suppress(OSError, http.client.HTTPException, ValueError):
                for message in _messages(response):
                    self._receive(message)

        thread = threading.Thread(target=read, daemon=True)
        self._threads.append(thread)
        thread.start()

    def post(self, message: Message) -> tuple[int, str]:
        """Send a message and return the status and the body of the response."""
        return self._exchange_once("POST", json.dumps(message), message)

    def end_session(self) -> int:
        """Delete the session of an earlier client and return the status."""
        return self._exchange_once("DELETE", None, {})[0]

    def _exchange_once(self, method: str, body: str | None, message: Message) -> tuple[int, str]:
        connection = http.client.HTTPConnection(self._url.netloc, timeout=HANG_S)
        with closing(connection):
            connection.request(method, self._url.path, body, self._headers(message))
            with connection.getresponse() as response:
                return response.status, response.read().decode()

    def cancel(self, request_id: int) -> None:
        if self._version == MODERN:
            self._sockets[request_id].shutdown(2)
            return
        params = {"requestId": request_id}
        self.send({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": params})

    def close(self) -> None:
        """Abandon what is still in progress."""
        for socket in list(self._sockets.values()):
            with suppress(OSError):
                socket.shutdown(2)
        for thread in self._threads:
            thread.join(HANG_S)

    def _exchange(self, message: Message) -> None:
        """Post a message and receive everything that the response contains."""
        number = message.get("id") if "method" in message else None
        connection = http.client.HTTPConnection(self._url.netloc, timeout=HANG_S)
        problem = "the response has ended"
        try:
            connection.connect()
            if number is not None:
                self._sockets[number] = connection.sock
            connection.request("POST", self._url.path, json.dumps(message), self._headers(message))
            with connection.getresponse() as response:
                self.session = response.headers.get("Mcp-Session-Id") or self.session
                for received in _messages(response):
                    self._receive(received)
                problem = f"the response with status {response.status} has ended"
        except (OSError, http.client.HTTPException, ValueError) as error:
            problem = repr(error)
        finally:
            self._sockets.pop(number, None)
            connection.close()
        if number is not None:
            self._receive({"closed": problem, "id": number})

    def _headers(self, message: Message) -> dict[str, str]:
        headers = {"Content-Type": "application/json", "Accept": "application/json, text/event-stream"}
        if self._token:
            headers["Authorization"] = f"Bearer {self._token}"
        if self.session:
            headers["Mcp-Session-Id"] = self.session
        if message.get("method") != "initialize":
            headers["MCP-Protocol-Version"] = self._version
        if self._version == MODERN and "method" in message:
            headers["Mcp-Method"] = message["method"]
            if message["method"] in NAME_PARAMS:
                headers["Mcp-Name"] = message["params"][NAME_PARAMS[message["method"]]]
        return headers


def _messages(response: http.client.HTTPResponse) -> Iterator[Message]:
    if not response.headers.get("Content-Type", "").startswith("text/event-stream"):
        body = response.read()
        if body:
            yield json.loads(body)
        return
    data = ""
    while line := response.readline().decode():
        name, _, value = line.rstrip("\r\n").partition(": ")
        if name == "data":
            data += value
        elif not name and data:
            yield json.loads(data)
            data = ""


class AskingClient:
    """A client of one protocol version.

    `answer` is called with every question and returns the result to send; the questions are recorded.
    Questions that the declared capabilities do not allow are recorded in `undeclared` and rejected.
    """

    def __init__(
        self,
        transport: StdioTransport | HttpTransport,
        version: str,
        capabilities: Message,
        answer: Answer | None = None,
    ) -> None:
        self.transport, self.version, self.capabilities = transport, version, capabilities
        self.answer: Answer = answer or in_turn()
        self.questions: list[Message] = []
        self.undeclared: list[Message] = []
        self.notifications: list[Message] = []
        self.failures: list[BaseException] = []
        """What the function that answers has raised."""
        self._ids = count(1)
        self._pending: dict[int, Future[Message]] = {}
        transport.open(self._receive)

    def __enter__(self) -> "AskingClient":
        if self.version == MODERN:
            self.request("server/discover")
        else:
            params = {"protocolVersion": LEGACY, "capabilities": self.capabilities, "clientInfo": CLIENT_INFO}
            assert self.request("initialize", **params)["result"]["protocolVersion"] == LEGACY
            self.transport.send({"jsonrpc": "2.0", "method": "notifications/initialized"})
        return self

    def __exit__(self, *_: object) -> None:
        self.transport.close()

    def answers(self, *answers: Message) -> "AskingClient":
        """Forget what was recorded, and give these answers from now on."""
        self.questions, self.undeclared, self.notifications, self.failures = [], [], [], []
        self.answer = in_turn(*answers)
        return self

    def start(self, method: str, **params: Any) -> tuple[int, "Future[Message]"]:
        """Send a request; return its id and its response."""
        number, future = next(self._ids), Future[Message]()
        self._pending[number] = future
        message = {"jsonrpc": "2.0", "id": number, "method": method, "params": self._add_meta(params)}
        self.transport.send(message)
        return number, future

    def request(self, method: str, **params: Any) -> Message:
        """Send a request and return its response."""
        return self.start(method, **params)[1].result(HANG_S)

    def call_once(self, tool: str, arguments: Message, **params: Any) -> Message:
        """Call a tool and return the response, which for a modern client may contain questions."""
        return self.request("tools/call", name=tool, arguments=arguments, **params)

    def call(self, tool: str, arguments: Message, **params: Any) -> Message:
        """Call a tool, answer its questions, and return the last response."""
        response = self.call_once(tool, arguments, **params)
        while True:
            if response.get("result", {}).get("resultType") == "input_required":
                retry = self.retry_params(response["result"])
                response = self.call_once(tool, arguments, **params, **retry)
            elif response.get("error", {}).get("code") == URL_REQUIRED and self.version == LEGACY:
                pages = response["error"]["data"]["elicitations"]
                questions = [{"method": "elicitation/create", "params": page} for page in pages]
                if any(self._respond(question).get("action") != "accept" for question in questions):
                    return response
                response = self.call_once(tool, arguments, **params)
            else:
                self.raise_failures()
                return response

    def retry_params(self, result: Message) -> Message:
        """Answer the questions of a result and return the parameters of the retry."""
        questions = result.get("inputRequests") or {}
        responses = {key: self._respond(question) for key, question in questions.items()}
        self.raise_failures()
        fields = {"inputResponses": responses, "requestState": result.get("requestState")}
        return {name: value for name, value in fields.items() if value}

    def raise_failures(self) -> None:
        """Raise what the function that answers has raised."""
        if self.failures:
            raise self.failures[0]

    def _receive(self, message: Message) -> None:
        if "closed" in message:
            numbers = [message["id"]] if "id" in message else list(self._pending)
            for number in numbers:
                if number in self._pending:
                    self._pending.pop(number).set_exception(ConnectionError(message["closed"]))
        elif "method" not in message:
            if message.get("id") in self._pending:
                self._pending.pop(message["id"]).set_result(message)
        elif "id" in message:
            threading.Thread(target=self._send_answer, args=(message,), daemon=True).start()
        else:
            self.notifications.append(message)

    def _send_answer(self, message: Message) -> None:
        """Answer a request of the server. A modern server must not send one."""
        if self.version == MODERN:
            self.failures.append(AssertionError(f"a request to a modern client: {message}"))
        result = self._respond({"method": message["method"], "params": message.get("params") or {}})
        body = {"error": result["error"]} if "error" in result else {"result": result}
        with suppress(OSError):  # the process may have ended
            self.transport.send({"jsonrpc": "2.0", "id": message["id"]} | body)

    def _respond(self, question: Message) -> Message:
        if not self._can_answer(question):
            self.undeclared.append(question)
            return {"error": {"code": -32601, "message": "Method not found"}}
        self.questions.append(question)
        try:
            return self.answer(question)
        except Exception as error:
            self.failures.append(error)
            return CANCEL

    def _can_answer(self, question: Message) -> bool:
        kind = question["method"].partition("/")[0]
        if kind != "elicitation":
            return kind in self.capabilities
        return question["params"].get("mode", "form") in self.capabilities.get("elicitation", {})

    def _add_meta(self, params: Message) -> Message:
        if self.version != MODERN:
            return params
        fields = {"protocolVersion": MODERN, "clientInfo": CLIENT_INFO}
        fields["clientCapabilities"] = self.capabilities
        meta = {f"{META_PREFIX}/{name}": value for name, value in fields.items()}
        return params | {"_meta": meta | params.get("_meta", {})}


def text_of(response: Message) -> str:
    """Return the text of a result or of an error."""
    if "error" in response:
        return str(response["error"]["message"])
    return "".join(part.get("text", "") for part in response["result"].get("content", []))


def is_failed(response: Message) -> bool:
    """Return whether a response is an error or the result of a failed call."""
    return "error" in response or bool(response["result"].get("isError"))


def read_log(file: Path, containing: str = "") -> list[Message]:
    """Return the events that an asking server has recorded, in lines that contain a text."""
    lines = file.read_text().splitlines() if file.exists() else []
    return [json.loads(line) for line in lines if containing in line]


def count_events(file: Path, tool: str, id: str, event: str = "run") -> int:
    """Return how often an event of a tool was recorded for the id of a call."""
    events = read_log(file, json.dumps(id))
    return [(line["tool"], line["id"], line["event"]) for line in events].count((tool, id, event))
