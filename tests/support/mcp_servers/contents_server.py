"""An MCP server without dependencies with resources and prompts: `python contents_server.py FILE [modern]`.

FILE contains what it offers, as JSON, and is read again for every request. Received requests are appended to
FILE.requests, one JSON object in each line.
"""

import base64
import json
import struct
import sys
import threading
import zlib
from pathlib import Path

FILE = Path(sys.argv[1]) if len(sys.argv) > 1 else Path()
IS_MODERN = sys.argv[2:] == ["modern"]


def png_chunk(kind, data):
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))


PNG = b"\x89PNG\r\n\x1a\n" + b"".join(
    png_chunk(kind, data)
    for kind, data in (
        (b"IHDR", struct.pack(">IIBBBBB", 48, 24, 8, 0, 0, 0, 0)),
        (b"IDAT", zlib.compress(bytes([0, *range(0, 240, 5)]) * 24)),
        (b"IEND", b""),
    )
)
META = {"example.com/x": [1, None], "ui": {"resourceUri": "ui://app/x"}}
RESOURCES = [
    {"uri": "memo:x", "name": "memo", "title": "A memo", "mimeType": "text/plain", "_meta": META, "later": 1},
    {"uri": "data://secret", "name": "secret", "description": "The same URI on all servers."},
    {"uri": "img://logo", "name": "logo", "mimeType": "image/png", "size": len(PNG)},
]
TEMPLATES = [{"uriTemplate": "file:///{+path}", "name": "file", "description": "A file.", "later": 2}]
ARGUMENTS = [{"name": "who", "description": "Whom to greet.", "required": True}, {"name": "tone"}]
PROMPTS = [
    {"name": "greet", "title": "Greet", "description": "Greet a person.", "arguments": ARGUMENTS, "later": 3},
    {"name": "show-logo", "description": "Show the logo."},
]
OFFER = {"resources": RESOURCES, "resourceTemplates": TEMPLATES, "prompts": PROMPTS, "texts": {}}
CAPABILITIES = {
    "tools": {"listChanged": True},
    "resources": {"subscribe": True, "listChanged": True},
    "prompts": {"listChanged": True},
    "completions": {},
    "logging": {},
    "experimental": {"example.com/y": {"z": 1}},
}
TOOLS = ["echo", "link", "notify", "log", "count"]
write_lock = threading.Lock()
subscriptions = {}
"""The request id of the stream on which events are sent; None for clients of earlier versions."""


def offer():
    return OFFER | (json.loads(FILE.read_text()) if FILE.is_file() else {})


def send(**message):
    with write_lock:
        sys.stdout.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
        sys.stdout.flush()


def notify(method, **params):
    if IS_MODERN and method != "notifications/message" and subscriptions:
        stream = next(iter(subscriptions))
        params["_meta"] = {"io.modelcontextprotocol/subscriptionId": stream}
    send(method=method, params=params)


class Refused(Exception):
    def __init__(self, code, message, data=None):
        super().__init__(message)
        self.code, self.data = code, data


def call(params):
    name, args = params["name"], params.get("arguments") or {}
    if name == "notify":
        for method in args["methods"] * args.get("times", 1):
            notify(method, **args.get("params", {}))
    if name == "log":
        for level in args["levels"]:
            notify("notifications/message", level=level, logger="disk", data=args.get("data", f"a {level}"))
    if name == "count":
        for number in range(1, args["to"] + 1):
            token = params["_meta"]["progressToken"]
            notify(
                "notifications/progress",
                progressToken=token,
                progress=number,
                total=args["to"],
                message="on it",
            )
    if name == "link":
        return {"content": [{"type": "resource_link", "uri": "data://secret", "name": "secret"}]}
    return {"content": [{"type": "text", "text": json.dumps(args)}]}


def read(uri):
    texts = offer()["texts"]
    if uri == "img://logo":
        return {"contents": [{"uri": uri, "mimeType": "image/png", "blob": base64.b64encode(PNG).decode()}]}
    known = [resource["uri"] for resource in offer()["resources"]]
    if uri not in known and not uri.startswith("file:///"):
        raise Refused(-32602 if IS_MODERN else -32002, "Resource not found", {"uri": uri})
    text = texts.get(uri, f"{FILE.stem} has {uri}")
    return {
        "contents": [{"uri": uri, "mimeType": "text/plain", "text": text, "_meta": {"a": 1}}],
        "later": True,
    }


def get_prompt(name, args):
    if name == "show-logo":
        image = {"type": "image", "data": base64.b64encode(PNG).decode(), "mimeType": "image/png"}
        return {"messages": [{"role": "user", "content": image, "later": 1}]}
    words = offer()["texts"].get(name, f"Say hello to {args['who']}.") + args.get("name", "")
    content = {"type": "text", "text": words, "annotations": {"priority": 1}}
    return {"description": "A greeting.", "messages": [{"role": "user", "content": content}], "later": 4}


def initialize(params):
    return {
        "protocolVersion": params["protocolVersion"],
        "capabilities": CAPABILITIES,
        "serverInfo": {"name": FILE.stem or "contents", "version": "1"},
        "instructions": "Read memo:x first.",
    }


def list_tools(params):
    names, schema = [*TOOLS, *offer().get("tools", ())], {"type": "object"}
    return {"tools": [{"name": name, "inputSchema": schema, "description": name} for name in names]}


def complete(params):
    context = params.get("context", {}).get("arguments", {})
    values = [params["argument"]["value"] + "!", *sorted(context.values()), json.dumps(params["ref"])]
    return {"completion": {"values": values, "total": 3, "hasMore": False}}


def list_items(field):
    def list_page(params):
        items, start = offer()[field], int(params.get("cursor", 0))
        more = {"nextCursor": str(start + 2)} if len(items) > start + 2 else {}
        return {field: items[start : start + 2], **more}

    return list_page


HANDLERS = {
    "initialize": initialize,
    "server/discover": lambda params: {
        "supportedVersions": ["2026-07-28"],
        "capabilities": CAPABILITIES,
        "instructions": "Read memo:x first.",
    },
    "tools/list": list_tools,
    "tools/call": call,
    "resources/read": lambda params: read(params["uri"]),
    "prompts/get": lambda params: get_prompt(params["name"], params.get("arguments") or {}),
    "completion/complete": complete,
    "skills/list": lambda params: {"skills": [{"name": "s", "digest": "sha256:1", "later": params}]},
    "resources/list": list_items("resources"),
    "resources/templates/list": list_items("resourceTemplates"),
    "prompts/list": list_items("prompts"),
}


def handle(message):
    method, params = message["method"], message.get("params") or {}
    with write_lock, Path(f"{FILE}.requests").open("a") as log:
        log.write(json.dumps({"method": method, "params": params}) + "\n")
    if "id" not in message or method in offer().get("hang", ()):
        return None
    if IS_MODERN and method == "initialize":
        return send(id=message["id"], error={"code": -32601, "message": "Method not found"})
    if method == "subscriptions/listen":
        subscriptions[message["id"]] = params
        meta = {"io.modelcontextprotocol/subscriptionId": message["id"]}
        acknowledged = {"notifications": params["notifications"], "_meta": meta}
        return send(method="notifications/subscriptions/acknowledged", params=acknowledged)
    try:
        result = HANDLERS.get(method, lambda params: {})(params)
    except Refused as error:
        refused = {"code": error.code, "message": str(error), "data": error.data}
        return send(id=message["id"], error=refused)
    if IS_MODERN:
        result |= {"resultType": "complete"}
        if method.endswith("/list") or method in ("server/discover", "resources/read"):
            result |= {"ttlMs": 3_000, "cacheScope": "private"}
    return send(id=message["id"], result=result)


if __name__ == "__main__":
    for line in sys.stdin:
        handle(json.loads(line))
