"""An MCP server of protocol 2026-07-28 that continues its calls as tasks: `task_server.py LOG [--http]`.

It uses stdio, or HTTP at a free port, whose URL it prints. `job` ends when the file `gate` exists, and first
asks for a name if `ask` is true; `ask_first` asks before the task. Without the extension, each answers.
LOG receives one JSON object in each line.
"""

import json
import secrets
import sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

PREFIX = "io.modelcontextprotocol"
EXTENSION = f"{PREFIX}/tasks"
LOG = Path(sys.argv[1])
SCHEMA = {"type": "object", "properties": {"gate": {"type": "string"}, "ask": {"type": "boolean"}}}
FORM = {"type": "object", "properties": {"name": {"type": "string"}}, "required": ["name"]}
QUESTION = {"method": "elicitation/create", "params": {"message": "Who?", "requestedSchema": FORM}}
PRIVATE = {"ttlMs": 0, "cacheScope": "private"}
tasks = {}


def note(event, **fields):
    with LOG.open("a") as log:
        log.write(json.dumps({"event": event} | fields) + "\n")


def text(words):
    return {"content": [{"type": "text", "text": words}], "resultType": "complete"}


def task(id):
    state = tasks[id]
    fields = {"taskId": id, "ttlMs": 60_000, "pollIntervalMs": 200, "createdAt": "2026-11-16T00:00:00Z"}
    fields |= {"lastUpdatedAt": "2026-11-16T00:00:00Z", "status": state["status"], "statusMessage": "at work"}
    if state["status"] == "working" and Path(state["gate"]).exists():
        state["status"] = fields["status"] = "failed" if state["gate"].endswith("fail") else "completed"
    if state["status"] == "completed":
        fields["result"] = text(f"done for {state['name']}")
    if state["status"] == "failed":
        fields["error"] = {"code": -32000, "message": "it broke"}
    if state["status"] == "input_required":
        fields["inputRequests"] = {"who": QUESTION}
    return fields


def call(params):
    args = params.get("arguments") or {}
    declared = params["_meta"][f"{PREFIX}/clientCapabilities"]
    note("run", extensions=sorted(declared.get("extensions") or {}))
    if EXTENSION not in (declared.get("extensions") or {}):
        return text("without tasks")
    responses = params.get("inputResponses")
    if params["name"] == "ask_first" and not responses:
        return {"resultType": "input_required", "inputRequests": {"who": QUESTION}, "requestState": "s"}
    name = responses["who"]["content"]["name"] if responses else "no one"
    id = secrets.token_hex(8)
    status = "input_required" if args.get("ask") else "working"
    tasks[id] = {"status": status, "gate": args.get("gate", ""), "name": name}
    return task(id) | {"resultType": "task"}


def respond(method, params):
    if method == "server/discover":
        capabilities = {"tools": {}, "extensions": {EXTENSION: {}}}
        return {"supportedVersions": ["2026-07-28"], "capabilities": capabilities} | PRIVATE
    if method == "tools/list":
        return {"tools": [{"name": name, "inputSchema": SCHEMA} for name in ("job", "ask_first")]} | PRIVATE
    if method == "tools/call":
        return call(params)
    if method == "tasks/get":
        return task(params["taskId"])
    if method == "tasks/update":
        tasks[params["taskId"]] |= {
            "status": "working",
            "name": params["inputResponses"]["who"]["content"]["name"],
        }
        return {}
    if method == "tasks/cancel":
        note("cancelled")
        tasks[params["taskId"]]["status"] = "cancelled"
        return {}
    return None


def answer(message):
    result = respond(message["method"], message.get("params") or {})
    body = {"error": {"code": -32601, "message": "Method not found"}}
    if result is not None:
        body = {"result": {"resultType": "complete"} | result}
    return json.dumps({"jsonrpc": "2.0", "id": message["id"]} | body)


class Handler(BaseHTTPRequestHandler):
    def do_POST(self):
        message = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        body = answer(message).encode() if "id" in message else b""
        self.send_response(200 if body else 202)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def do_GET(self):
        self.send_error(405)

    def log_message(self, *_):
        pass


if "--http" in sys.argv:
    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    print(f"http://127.0.0.1:{server.server_port}/mcp", flush=True)
    server.serve_forever()
for line in sys.stdin:
    message = json.loads(line)
    if "id" in message:
        print(answer(message), flush=True)
