"""An MCP server whose tools and handshake are read from a file: `python listing_server.py FILE`.

Every call returns its arguments, the id of the process, and its idempotency key if it has one.
"""

import json
import os
import sys
from pathlib import Path


def read():
    return json.loads(Path(sys.argv[1]).read_text(encoding="utf-8"))


def respond(method, params):
    if method == "initialize":
        info = {"name": "listing", "version": "1"}
        version = params["protocolVersion"]
        handshake = {"protocolVersion": version, "capabilities": {"tools": {}}, "serverInfo": info}
        return handshake | read()["handshake"]
    if method == "tools/list":
        return {"tools": read()["tools"]}
    if method == "tools/call":
        data = {"tool": params["name"], "args": params.get("arguments") or {}, "pid": os.getpid()}
        if key := (params.get("_meta") or {}).get("io.onetool/idempotency-key"):
            data["key"] = key
        return {"content": [{"type": "text", "text": json.dumps(data)}], "structuredContent": data}
    return {}


for line in sys.stdin:
    message = json.loads(line)
    if "id" in message:
        result = respond(message["method"], message.get("params") or {})
        print(json.dumps({"jsonrpc": "2.0", "id": message["id"], "result": result}), flush=True)
