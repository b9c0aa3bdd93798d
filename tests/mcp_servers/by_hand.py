"""An MCP server without any package, good or faulty: `python by_hand.py MODE [FILE]`."""

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


def tool(name, **known):
    return {"name": name, "description": f"Does {name}.", "inputSchema": {"type": "object"}, **known}


def send(message):
    sys.stdout.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
    sys.stdout.flush()


def note(text):
    if FILE and MODE != "from-file":
        with FILE.open("a") as file:
            file.write(text + "\n")


def texts(*words):
    return {"content": [{"type": "text", "text": text} for text in words]}


def hang(args, meta):
    note("hanging")


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
    return texts("told")


def child(args, meta):
    return texts(str(subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"]).pid))


def named(name):
    """Of many tools, each answers with its name."""
    return lambda args, meta: texts(name)


ANSWERS = {
    "echo": lambda args, meta: texts(args.get("text", "")),
    "pid": lambda args, meta: texts(str(os.getpid())),
    "env": lambda args, meta: texts(json.dumps(dict(os.environ))),
    "die": lambda args, meta: os._exit(3),
    "hang": hang,
    "fail": lambda args, meta: texts("x" * 10_000) | {"isError": True},
    "huge": lambda args, meta: texts("x" * 50_000_000),
    "too-huge": lambda args, meta: texts("x" * 70_000_000),
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
KNOWN = {
    "echo": {
        "inputSchema": {"type": "object", "properties": {"text": {"type": "string"}}},
        "annotations": {"readOnlyHint": True},
    },
    "data": {"outputSchema": {"type": "object"}},
}


def listed(params):
    start = int(params.get("cursor", 0))
    if MODE == "many":
        follows = {"nextCursor": str(start + PAGE)} if start + PAGE < MANY else {}
        return {"tools": [tool(f"tool-{start + number}") for number in range(PAGE)]} | follows
    if MODE == "endless":
        tools = [tool(f"t{start + number}") for number in range(ENDLESS)]
        return {"tools": tools, "nextCursor": str(start + ENDLESS)}
    if MODE == "from-file":
        return {"tools": json.loads(FILE.read_text())}
    return {"tools": [tool(name, **KNOWN.get(name, {})) for name in ANSWERS]}


DISCOVERED = {
    "supportedVersions": ["2026-07-28"],
    "capabilities": {"tools": {}},
    "resultType": "complete",
    "ttlMs": 0,
    "cacheScope": "private",
}


def answer(id, method, params):
    if MODE == "modern" and method == "server/discover":
        return DISCOVERED
    if method == "initialize" and MODE != "modern":
        about = {"name": "by hand", "version": "1"}
        version = params["protocolVersion"]
        return {"protocolVersion": version, "capabilities": {"tools": {}}, "serverInfo": about}
    if method == "tools/list":
        return listed(params)
    if method == "tools/call" and (respond := ANSWERS.get(params["name"], named(params["name"]))):
        return respond(params.get("arguments") or {}, params.get("_meta") or {})
    send({"id": id, "error": {"code": -32000, "message": "No."}})
    return None


def exits():
    print("out of order", file=sys.stderr, flush=True)
    sys.exit(7)


def flood():
    while True:
        sys.stdout.write("rubbish " * 8000 + "\n")


AT_START = {
    "exits": exits,
    "hangs": lambda: time.sleep(600),
    "stubborn": lambda: signal.signal(signal.SIGTERM, signal.SIG_IGN),
    "rubbish": lambda: sys.stdout.write('Welcome!\n\n{not json}\n{"jsonrpc": "1.0"}\n' + "\x00\xff\n" * 1000),
    "flood": flood,
}


def main():
    note(f"started {os.getpid()}")
    AT_START.get(MODE, lambda: None)()
    print("e" * 5000, file=sys.stderr, flush=True)
    for line in sys.stdin:
        message = json.loads(line)
        note(message["method"])
        if "id" in message:
            result = answer(message["id"], message["method"], message.get("params") or {})
            sys.stdout.write("between\n" if MODE == "rubbish" else "")
            if MODE == "modern" and result is not None:
                result = (
                    DISCOVERED | result
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
