"""An MCP server without dependencies that sends too much: `python flooding_server.py stdio|json|sse`.

Over HTTP it prints its URL; `json` responds with JSON bodies, `sse` with event streams.
"""

import json
import os
import sys
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

MODE = sys.argv[1]
CSV = "1,2,3,4,5,6\n" * 100_000
NOTIFICATIONS = {
    "log": ("message", {"level": "info", "data": "x"}),
    "notice": ("resources/updated", {"uri": "file:///x"}),
    "list": ("tools/list_changed", {}),
    "resources": ("resources/list_changed", {}),
    "progress": ("progress", {}),
}
listings = waiting = disconnected = 0
names = []


def texts(*words):
    return {"content": [{"type": "text", "text": text} for text in words]}


def nested(levels):
    value = []
    for _ in range(levels - 1):
        value = [value]
    return value


def notification(kind, meta, number):
    method, params = NOTIFICATIONS[kind]
    if kind == "progress":
        params = {"progressToken": meta["progressToken"], "progress": number}
    return {"jsonrpc": "2.0", "method": f"notifications/{method}", "params": params}


class Call:
    """A call in progress: `send` writes a message, as a dict or as text."""

    def __init__(self, id, args, meta, send):
        self.id, self.args, self.meta, self.send = id, args, meta, send

    def echo(self):
        return texts(self.args["text"])

    def values(self):
        return texts("{}") | {"structuredContent": {"values": [0] * self.args.get("count", 1_000_000)}}

    def id_last(self):
        self.send(json.dumps({"result": self.values(), "jsonrpc": "2.0", "id": self.id}))

    def id_hidden(self):
        self.send(json.dumps({"jsonrpc": "2.0", "result": self.values(), "id": self.id, "more": {}}))

    def large_notification(self):
        message = notification("log", self.meta, 0)
        self.send(message | {"params": {"level": "info", "data": [0] * 1_000_000}})
        return texts("sent")

    def csv(self):
        return texts(CSV)

    def deep(self):
        return texts("{}") | {"structuredContent": {"value": nested(self.args["levels"])}}

    def parts(self):
        return texts(*["x"] * self.args["count"])

    def flood(self):
        for number in range(self.args["count"]):
            message = notification(self.args["kind"], self.meta, number)
            self.send(dict(reversed(message.items())) if self.args.get("method_last") else message)
        return texts("sent")

    def flood_and_add(self):
        self.flood()
        names.append("added")
        self.send(notification("list", self.meta, 0))
        return texts("sent")

    def listings(self):
        return texts(str(listings))

    def pid(self):
        return texts(str(os.getpid()))

    def hang(self):
        return None

    def ask_without_reading(self):
        for number in range(self.args["count"]):
            self.send({"jsonrpc": "2.0", "id": f"{number} {'x' * 1_000}", "method": "ping"})
        return texts("asked")

    def stop_reading(self):
        self.send({"jsonrpc": "2.0", "id": self.id, "result": texts("stopped")})
        time.sleep(3600)

    def never_end(self):
        self.send(f'{{"jsonrpc": "2.0", "id": {self.id}, "result": "', end="")
        global disconnected
        try:
            while True:
                self.send("x" * 1_000, end="")
                time.sleep(0.01)
        except OSError:
            disconnected += 1

    def never_begin(self):
        """Over HTTP: send no header."""

    def waiting(self):
        return texts(str(waiting))

    def disconnected(self):
        return texts(str(disconnected))


names += [name for name in vars(Call) if not name.startswith("_")]


def list_tools():
    global listings
    listings += 1
    return {"tools": [{"name": name, "inputSchema": {"type": "object"}} for name in names]}


def handle(message, send):
    method, params = message["method"], message.get("params") or {}
    if method == "initialize":
        info = {"name": "flooding", "version": "1"}
        result = {"protocolVersion": params["protocolVersion"], "capabilities": {}, "serverInfo": info}
    elif method == "tools/list":
        result = list_tools()
    elif method == "tools/call":
        if params["name"] not in names:
            send({"jsonrpc": "2.0", "id": message["id"], "error": {"code": -32602, "message": "No."}})
            return
        call = Call(message["id"], params.get("arguments") or {}, params.get("_meta") or {}, send)
        result = getattr(call, params["name"])()
    else:
        return
    if result is not None:
        send({"jsonrpc": "2.0", "id": message["id"], "result": result})


def wait_for_disconnection(connection):
    global waiting, disconnected
    waiting += 1
    connection.recv(1)
    disconnected += 1


def serve_stdio():
    def send(message, end="\n"):
        sys.stdout.write((message if isinstance(message, str) else json.dumps(message)) + end)
        if end == "\n":
            sys.stdout.flush()

    for line in sys.stdin:
        handle(json.loads(line), send)


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_POST(self):
        message = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        if "id" not in message:
            self.send_response(202)
            self.send_header("Content-Length", "0")
            self.end_headers()
            return
        self.send_response(200)
        self.send_header("Content-Type", "application/json" if MODE == "json" else "text/event-stream")
        self.send_header("Connection", "close")
        if message.get("params", {}).get("name") == "never_begin":
            wait_for_disconnection(self.connection)
            return
        self.end_headers()
        self.close_connection = True
        self.is_open = False
        handle(message, self.send)

    def do_GET(self):
        self.send_error(405)

    def send(self, message, end="\n"):
        is_event = MODE == "sse"
        if not is_event and isinstance(message, dict) and "method" in message:
            return  # a JSON body is one message
        text = message if isinstance(message, str) else json.dumps(message)
        prefix = "data: " if is_event and not self.is_open else ""
        self.is_open = end == ""
        self.wfile.write((prefix + text + ("\n\n" if end else "")).encode())

    def log_message(self, *args):
        """Log nothing."""


def serve_http():
    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    threading.Thread(target=server.serve_forever, daemon=True).start()
    print(f"http://127.0.0.1:{server.server_address[1]}/mcp", flush=True)
    sys.stdin.read()


serve_stdio() if MODE == "stdio" else serve_http()
