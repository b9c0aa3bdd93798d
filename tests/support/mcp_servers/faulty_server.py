"""An MCP server without dependencies, with faults by mode: `python faulty_server.py MODE [FILE]`."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

MODE = sys.argv[1]
FILE = Path(sys.argv[2]) if len(sys.argv) > 2 else None
PAGE, MANY, ENDLESS = 500, 5000, 2000


def tool(name, **fields):
    return {"name": name, "description": f"Does {name}.", "inputSchema": {"type": "object"}, **fields}


def send(message):
    sys.stdout.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
    sys.stdout.flush()


def log(text):
    """Append a line to FILE, for tests to read."""
    if FILE and MODE != "from-file":
        with FILE.open("a") as file:
            file.write(text + "\n")


def texts(*words):
    return {"content": [{"type": "text", "text": text} for text in words]}


def hang(args, meta):
    log("hanging")


def count(args, meta):
    for done in (1, 2):
        params = {"progressToken": meta["progressToken"], "progress": done, "total": 2, "message": "on it"}
        send({"method": "notifications/progress", "params": params})
    return texts("counted")


def parts(args, meta):
    picture = {"type": "image", "mimeType": "image/png", "data": "AAAA"}
    link = {"type": "resource_link", "uri": "file:///a", "name": "a"}
    inner = {"type": "resource", "resource": {"uri": "file:///b", "mimeType": "text/plain", "text": "b"}}
    return {"content": [*texts("one")["content"], picture, link, inner]}


def relist(args, meta):
    send({"method": "notifications/tools/list_changed"})
    return texts("notified")


def child(args, meta):
    return texts(str(subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"]).pid))


def return_name(name):
    """Return a handler that responds with the name of the tool."""
    return lambda args, meta: texts(name)


HANDLERS = {
    "echo": lambda args, meta: texts(args.get("text", "")),
    "pid": lambda args, meta: texts(str(os.getpid())),
    "cwd": lambda args, meta: texts(str(Path.cwd())),
    "env": lambda args, meta: texts(json.dumps(dict(os.environ))),
    "die": lambda args, meta: os._exit(3),
    "hang": hang,
    "fail": lambda args, meta: texts("x" * 10_000) | {"isError": True},
    "huge": lambda args, meta: texts("x" * 50_000_000),
    "too-huge": lambda args, meta: texts("x" * 70_000_000),
    "values": lambda args, meta: (
        texts("{}") | {"structuredContent": {"values": [0] * args.get("count", 1_000_000)}}
    ),
    "count": count,
    "parts": parts,
    "two": lambda args, meta: texts("one", "two"),
    "picture": lambda args, meta: {"content": parts(args, meta)["content"][1:2]},
    "data": lambda args, meta: texts("{}") | {"structuredContent": {"n": 1}},
    "nonsense": lambda args, meta: {"content": "none"},
    "relist": relist,
    "child": child,
    "refuse": None,
}
TOOL_FIELDS = {
    "echo": {
        "inputSchema": {"type": "object", "properties": {"text": {"type": "string"}}},
        "annotations": {"readOnlyHint": True},
    },
    "data": {"outputSchema": {"type": "object"}},
}


def list_tools(params):
    start = int(params.get("cursor", 0))
    if MODE == "many":
        next_page = {"nextCursor": str(start + PAGE)} if start + PAGE < MANY else {}
        return {"tools": [tool(f"tool-{start + number}") for number in range(PAGE)]} | next_page
    if MODE == "many-at-once":
        return {"tools": [tool(f"tool-{number}") for number in range(20_000)]}
    if MODE == "endless":
        tools = [tool(f"t{start + number}") for number in range(ENDLESS)]
        return {"tools": tools, "nextCursor": str(start + ENDLESS)}
    if MODE == "from-file":
        return {"tools": json.loads(FILE.read_text())}
    return {"tools": [tool(name, **TOOL_FIELDS.get(name, {})) for name in HANDLERS]}


DISCOVER_RESULT = {
    "supportedVersions": ["2026-07-28"],
    "capabilities": {"tools": {}},
    "resultType": "complete",
    "ttlMs": 0,
    "cacheScope": "private",
}


def respond(id, method, params):
    if MODE == "modern" and method == "server/discover":
        return DISCOVER_RESULT
    if method == "initialize" and MODE != "modern":
        server_info = {"name": "faulty", "version": "1"}
        version = params["protocolVersion"]
        return {"protocolVersion": version, "capabilities": {"tools": {}}, "serverInfo": server_info}
    if method == "tools/list":
        return list_tools(params)
    if method == "tools/call" and (handler := HANDLERS.get(params["name"], return_name(params["name"]))):
        return handler(params.get("arguments") or {}, params.get("_meta") or {})
    send({"id": id, "error": {"code": -32000, "message": "No."}})
    return None


def explain_and_exit():
    print("Fetching the model ...", file=sys.stderr)
    print("Error: set ACME_TOKEN", file=sys.stderr)
    print("npm notice New version of npm available!", file=sys.stderr)
    sys.exit(1)


def hold_file_with_child():
    """Ignore signals, start a child in a session of its own, and hold FILE, a FIFO, open in both."""
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    os.open(FILE, os.O_WRONLY)
    if os.fork() == 0:
        os.setsid()
        for descriptor in (0, 1, 2):
            os.dup2(os.open(os.devnull, os.O_RDWR), descriptor)
        log("child")
        while True:
            signal.pause()


def exit_at_start():
    print("out of order", file=sys.stderr, flush=True)
    sys.exit(7)


def flood():
    while True:
        sys.stdout.write("garbage " * 8000 + "\n")


AT_START = {
    "exits": exit_at_start,
    "explains": explain_and_exit,
    "holds-file": hold_file_with_child,
    "hangs": lambda: time.sleep(600),
    "stubborn": lambda: signal.signal(signal.SIGTERM, signal.SIG_IGN),
    "malformed": lambda: sys.stdout.write(
        'Welcome!\n\n{not json}\n{"jsonrpc": "1.0"}\n' + "\x00\xff\n" * 1000
    ),
    "flood": flood,
}


def main():
    log(f"started {os.getpid()}")
    AT_START.get(MODE, lambda: None)()
    print("e" * 5000, file=sys.stderr, flush=True)
    for line in sys.stdin:
        message = json.loads(line)
        log(message["method"])
        if "id" in message:
            result = respond(message["id"], message["method"], message.get("params") or {})
            sys.stdout.write("between\n" if MODE == "malformed" else "")
            if MODE == "modern" and result is not None:
                result = (
                    DISCOVER_RESULT | result
                    if message["method"] == "tools/list"
                    else {"resultType": "complete"} | result
                )
            if MODE == "restless":
                send({"method": "notifications/tools/list_changed"})
            if result is not None:
                send({"id": message["id"], "result": result})
    if MODE == "stubborn":
        time.sleep(600)


main()
