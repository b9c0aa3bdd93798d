"""An MCP server without dependencies that asks: `asking_server.py --legacy|--modern LOG [--http PORT]`.

`--legacy` uses protocol 2025-11-25 and sends its questions as requests; `--modern` uses 2026-07-28 and
returns them as results of type `input_required`. With `--http` it listens on the loopback interface and
prints its URL.

LOG receives one JSON object in each line: the `event`, the `tool` and the `id` that the caller gave.
LOG.tools may contain changes to the definitions of tools, as JSON; it is read for every listing.
"""

import base64
import itertools
import json
import queue
import secrets
import select
import socket
import sys
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

LEGACY, MODERN = "2025-11-25", "2026-07-28"
PREFIX = "io.modelcontextprotocol"
PNG = b"\x89PNG\r\n\x1a\n" + bytes(range(256))
PAGE = "https://pages.example/sign-in"
STRING = {"type": "string"}
MAX_ENDLESS = 60
"""Questions after which `endless` ends, so that a client that does not limit them ends too."""
URL_REQUIRED = -32042
CHOICES = {
    "color": {"type": "string", "enum": ["red", "green"]},
    "size": {
        "type": "string",
        "oneOf": [{"const": "s", "title": "Small"}, {"const": "l", "title": "Large"}],
        "default": "s",
    },
    "extras": {"type": "array", "items": {"type": "string", "enum": ["milk", "sugar"]}},
    "count": {"type": "integer", "minimum": 1, "maximum": 9, "default": 1},
    "ratio": {"type": "number"},
    "gift": {"type": "boolean", "default": False},
}


class JsonRpcError(Exception):
    """An error response."""

    def __init__(self, code, message, data=None):
        super().__init__(message)
        self.error = {"code": code, "message": message} | ({} if data is None else {"data": data})


class Cancelled(Exception):
    """The client cancelled the call."""


def text(words):
    return {"content": [{"type": "text", "text": words}]}


def form(message, _required=None, **properties):
    required = list(properties) if _required is None else _required
    schema = {"type": "object", "properties": properties, "required": required}
    params = {"mode": "form", "message": message, "requestedSchema": schema}
    return {"method": "elicitation/create", "params": params}


def page(**fields):
    params = {"mode": "url", "message": "Sign in on this page.", "url": PAGE} | fields
    return {"method": "elicitation/create", "params": params}


def field_of(answer, name="name"):
    """Return a field of an accepted form, or what was done instead."""
    if answer.get("action") != "accept":
        return {"decline": "declined", "cancel": "cancelled"}.get(answer.get("action"), json.dumps(answer))
    return (answer.get("content") or {}).get(name)


def greeting(*answers):
    names = [field_of(answer) for answer in answers]
    failed = [name for name in names if name in ("declined", "cancelled")]
    return text(failed[0] if failed else "hello " + " and ".join(map(str, names)))


# A tool is a generator: it yields lists of questions, receives their answers, and returns its result.


def ask_name(call):
    if not call.can_elicit("form"):
        return text("cannot ask")
    (answer,) = yield [form("What is your name?", name=STRING)]
    return greeting(answer)


def ask_two(call):
    (first,) = yield [form("What is your first name?", name=STRING)]
    call.note("between")
    (second,) = yield [form("What is your last name?", name=STRING)]
    return greeting(first, second)


def ask_both(call):
    answers = yield [form("Who are you?", name=STRING), form("Who is your friend?", name=STRING)]
    return greeting(*answers)


def open_page(call):
    if not call.can_elicit("url"):
        return text("cannot show pages")
    fields = {} if call.is_modern else {"elicitationId": call.id}
    (answer,) = yield [page(**fields)]
    return text("opened" if answer.get("action") == "accept" else str(field_of(answer)))


def needs_page(call):
    """Fail with the error for missing pages until the page of this id was sent once."""
    if call.is_modern:
        return (yield from open_page(call))
    if call.id not in call.sent_pages:
        call.sent_pages.add(call.id)
        call.note("page sent")
        elicitations = [page(elicitationId=call.id)["params"]]
        raise JsonRpcError(URL_REQUIRED, "A page must be opened first.", {"elicitations": elicitations})
    return text("opened")


def sample(call):
    if "sampling" not in call.capabilities:
        return text("cannot sample")
    message = {"role": "user", "content": {"type": "text", "text": "Name a color."}}
    params = {"messages": [message], "maxTokens": 10, "includeContext": "none"}
    (answer,) = yield [{"method": "sampling/createMessage", "params": params}]
    content = answer.get("content")
    return text(content["text"] if isinstance(content, dict) and "text" in content else "refused")


def roots(call):
    if "roots" not in call.capabilities:
        return text("no roots")
    (answer,) = yield [{"method": "roots/list", "params": {}}]
    return text(json.dumps([root["uri"] for root in answer.get("roots", [])]))


def capabilities(call):
    return text(json.dumps(call.capabilities, sort_keys=True))
    yield


def endless(call):
    for number in range(MAX_ENDLESS):
        call.note("asked")
        yield [form(f"Question {number}?", name=STRING)]
    return text("asked enough")


def secret_form(call):
    (answer,) = yield [form("What is your key?", api_key={"type": "string", "title": "API key"})]
    return text(f"got {field_of(answer, 'api_key')}")


def choices(call):
    (answer,) = yield [form("Choose.", ["color"], **CHOICES)]
    is_accepted = answer.get("action") == "accept"
    return text(json.dumps(answer["content"], sort_keys=True) if is_accepted else field_of(answer))


def typed(call):
    """Ask for a number; note what arrives."""
    (answer,) = yield [form("How old are you?", age={"type": "integer", "minimum": 0})]
    call.note("answered", answer=answer)
    return text(f"age {field_of(answer, 'age')!r}")


def image(call):
    call.progress(1, 2, "half")
    call.progress(2, 2, "whole")
    data = base64.b64encode(PNG).decode()
    return {"content": [{"type": "image", "data": data, "mimeType": "image/png"}]}
    yield


def write(call):
    return text(f"wrote {call.args.get('text', '')}")
    yield


def write_asking(call):
    """Ask before something is written, as well as the approval."""
    return (yield from ask_name(call))


def slow(call):
    """Report progress, then wait until the file `gate` exists or the call is cancelled."""
    call.progress(1, 2, "half")
    call.note("waiting")
    gate = Path(call.args["gate"])
    while not gate.exists():
        call.check_cancelled()
        time.sleep(0.01)
    call.progress(2, 2, "whole")
    return text("done")
    yield


TOOLS = {
    tool.__name__: tool
    for tool in (
        ask_name,
        ask_two,
        ask_both,
        open_page,
        needs_page,
        sample,
        roots,
        capabilities,
        endless,
        secret_form,
        choices,
        typed,
        image,
        write,
        write_asking,
        slow,
    )
}
WRITING = {"write", "write_asking"}
APPS = {"image": {"_meta": {"ui": {"resourceUri": "ui://asking/image"}}}}
"""Tools whose results an app shows."""
SCHEMA = {"type": "object", "properties": {"id": STRING, "text": STRING, "gate": STRING}}


class Call:
    """A call of a tool. Its fields and methods are for the tool."""

    def __init__(self, server, name, params, client_capabilities, send):
        self.name, self.args = name, params.get("arguments") or {}
        self.id = self.args.get("id", "")
        self.is_modern, self.capabilities = server.is_modern, client_capabilities
        self.sent_pages = server.sent_pages
        self.token = (params.get("_meta") or {}).get("progressToken")
        self.send = send
        self.cancelled = threading.Event()
        self.answers = queue.Queue()
        self._server = server

    def can_elicit(self, mode):
        modes = self.capabilities.get("elicitation")
        return modes is not None and (mode in modes or (mode == "form" and not modes))

    def note(self, event, **fields):
        self._server.note(event, self.name, self.id, **fields)

    def progress(self, done, total, message):
        if self.token is not None:
            params = {"progressToken": self.token, "progress": done, "total": total, "message": message}
            self.send({"jsonrpc": "2.0", "method": "notifications/progress", "params": params})

    def cancel(self):
        self.cancelled.set()
        self.answers.put(None)

    def check_cancelled(self):
        if self.cancelled.is_set():
            raise Cancelled


class Session:
    """A connection: what the client declared, and its calls in progress by request id."""

    def __init__(self):
        self.capabilities, self.calls = {}, {}


class Server:
    """Answers messages of any transport."""

    def __init__(self, is_modern, log):
        self.is_modern, self._log = is_modern, log
        self.sent_pages = set()
        self._waiting = {}
        self._suspended = {}
        self._numbers, self._lock = itertools.count(1), threading.Lock()

    def note(self, event, tool, id, **fields):
        line = json.dumps({"event": event, "tool": tool, "id": id} | fields) + "\n"
        with self._lock, self._log.open("a") as log:
            log.write(line)

    def receive(self, message, session, send):
        """Process a notification or a response."""
        if "method" not in message:
            waiting = self._waiting.pop(message.get("id"), None)
            if waiting is not None:
                waiting.put(message)
        elif message["method"] == "notifications/cancelled":
            call = session.calls.get(message["params"]["requestId"])
            if call is not None:
                call.cancel()

    def respond(self, message, session, send):
        """Answer a request. `send` sends a message that belongs to it."""
        try:
            result = self._result(message, session, send)
        except JsonRpcError as error:
            send({"jsonrpc": "2.0", "id": message["id"], "error": error.error})
        except Cancelled:
            session.calls[message["id"]].note("cancelled")
            if not self.is_modern:
                return
            error = {"code": -32800, "message": "Cancelled"}
            send({"jsonrpc": "2.0", "id": message["id"], "error": error})
        else:
            if self.is_modern:
                result = {"resultType": "complete"} | result
            send({"jsonrpc": "2.0", "id": message["id"], "result": result})
        finally:
            session.calls.pop(message["id"], None)

    def _result(self, message, session, send):
        method, params = message["method"], message.get("params") or {}
        private = {"ttlMs": 0, "cacheScope": "private"} if self.is_modern else {}
        if method == "initialize" and not self.is_modern:
            session.capabilities = params.get("capabilities") or {}
            return {
                "protocolVersion": LEGACY,
                "capabilities": {"tools": {}},
                "serverInfo": {"name": "asking", "version": "1"},
            }
        if method == "server/discover" and self.is_modern:
            return {"supportedVersions": [MODERN], "capabilities": {"tools": {}}} | private
        if method == "ping":
            return {}
        if method == "tools/list":
            return {"tools": self._definitions()} | private
        if method == "tools/call":
            return self._call(message, params, session, send)
        raise JsonRpcError(-32601, f"Method not found: {method}")

    def _definitions(self):
        file = self._log.with_name(f"{self._log.name}.tools")
        changes = json.loads(file.read_text()) if file.exists() else {}
        return [
            {
                "name": name,
                "description": f"Test tool {name.replace('_', ' ')}.",
                "inputSchema": SCHEMA,
                "annotations": {"readOnlyHint": name not in WRITING, "openWorldHint": False},
            }
            | APPS.get(name, {})
            | changes.get(name, {})
            for name in TOOLS
        ]

    def _call(self, message, params, session, send):
        name = params.get("name")
        if name not in TOOLS:
            raise JsonRpcError(-32602, f"Unknown tool: {name}")
        if not self.is_modern:
            call = Call(self, name, params, session.capabilities, send)
            session.calls[message["id"]] = call
            return self._run_here(call)
        state = params.get("requestState")
        declared = (params.get("_meta") or {}).get(f"{PREFIX}/clientCapabilities") or {}
        if state is None:
            call = Call(self, name, params, declared, send)
            session.calls[message["id"]] = call
            return self._step(call, self._start(call), None)
        if state not in self._suspended:
            raise JsonRpcError(-32602, "Invalid or expired requestState")
        call, tool, count = self._suspended.pop(state)
        responses = params.get("inputResponses") or {}
        call.send = send
        session.calls[message["id"]] = call
        return self._step(call, tool, [responses.get(f"q{number}", {}) for number in range(count)])

    def _start(self, call):
        call.note("run")
        return TOOLS[call.name](call)

    def _step(self, call, tool, answers):
        """Continue a tool until it returns or asks, and return its result or its questions."""
        try:
            questions = tool.send(answers)
        except StopIteration as end:
            call.note("end")
            return end.value
        state = secrets.token_hex(16)
        self._suspended[state] = (call, tool, len(questions))
        requests = {f"q{number}": question for number, question in enumerate(questions)}
        return {"resultType": "input_required", "inputRequests": requests, "requestState": state}

    def _run_here(self, call):
        """Run a tool to its end; send its questions as requests."""
        tool, answers = self._start(call), None
        while True:
            try:
                questions = tool.send(answers)
            except StopIteration as end:
                call.note("end")
                return end.value
            answers = self._ask(call, questions)

    def _ask(self, call, questions):
        numbers = [f"ask-{next(self._numbers)}" for _ in questions]
        for number, question in zip(numbers, questions, strict=True):
            self._waiting[number] = call.answers
            call.send({"jsonrpc": "2.0", "id": number} | question)
        received = {}
        while len(received) < len(questions):
            response = call.answers.get()
            call.check_cancelled()
            received[response["id"]] = response.get("result", {"error": response.get("error")})
        return [received[number] for number in numbers]


def serve_stdio(server):
    """Serve one client until it closes stdin."""
    session, lock = Session(), threading.Lock()

    def send(message):
        with lock:
            sys.stdout.write(json.dumps(message) + "\n")
            sys.stdout.flush()

    for line in sys.stdin:
        message = json.loads(line)
        if "method" in message and "id" in message:
            args = (message, session, send)
            threading.Thread(target=server.respond, args=args, daemon=True).start()
        else:
            server.receive(message, session, send)


class Handler(BaseHTTPRequestHandler):
    """Streamable HTTP: calls are answered with an event stream, everything else with JSON."""

    asking: Server
    sessions: dict[str, Session] = {}  # noqa: RUF012 - one server in each process

    def do_POST(self):
        message = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        if self.asking.is_modern:
            key, session = "", Session()
        elif message.get("method") == "initialize":
            key = secrets.token_hex(8)
            session = self.sessions[key] = Session()
        else:
            key = self.headers.get("Mcp-Session-Id", "")
            session = self.sessions.get(key)
        if session is None:
            error = {"code": -32600, "message": "Unknown session"}
            self._reply(404 if key else 400, {"jsonrpc": "2.0", "id": message.get("id"), "error": error})
        elif "method" not in message or "id" not in message:
            self.asking.receive(message, session, None)
            self._reply(202, None)
        elif message["method"] == "tools/call":
            self._stream(message, session)
        else:
            sent = []
            self.asking.respond(message, session, sent.append)
            self._reply(200, sent[0], key)

    def do_GET(self):
        self._reply(405, None)

    def do_DELETE(self):
        self.sessions.pop(self.headers.get("Mcp-Session-Id", ""), None)
        self._reply(200, None)

    def _reply(self, status, message, session=""):
        body = b"" if message is None else json.dumps(message).encode()
        self.send_response(status)
        if session:
            self.send_header("Mcp-Session-Id", session)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def _stream(self, message, session):
        """Send every message of a call as an event. A modern client cancels by closing the stream."""
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.end_headers()
        sent = queue.Queue()

        def run():
            self.asking.respond(message, session, sent.put)
            sent.put(None)

        threading.Thread(target=run, daemon=True).start()
        while True:
            try:
                event = sent.get(timeout=0.05)
            except queue.Empty:
                if self.asking.is_modern and self._is_closed() and message["id"] in session.calls:
                    session.calls[message["id"]].cancel()
                continue
            if event is None:
                return
            self.wfile.write(f"event: message\ndata: {json.dumps(event)}\n\n".encode())
            self.wfile.flush()

    def _is_closed(self):
        readable, _, _ = select.select([self.connection], [], [], 0)
        return bool(readable) and self.connection.recv(1, socket.MSG_PEEK) == b""

    def log_message(self, *_):
        """Disable logging to stderr."""


def serve_http(server, port):
    """Serve any number of clients; print the URL when the socket listens."""
    Handler.asking = server
    with ThreadingHTTPServer(("127.0.0.1", port), Handler) as http:
        http.daemon_threads = True
        print(f"http://127.0.0.1:{http.server_port}/mcp", flush=True)
        http.serve_forever(0.05)


def main(era, log, *options):
    server = Server(era == "--modern", Path(log))
    if options[:1] == ("--http",):
        serve_http(server, int(options[1]))
    else:
        serve_stdio(server)


if __name__ == "__main__":
    main(*sys.argv[1:])
