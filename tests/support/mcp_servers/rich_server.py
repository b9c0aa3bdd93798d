"""An MCP server without dependencies with results of every type: `python rich_server.py [modern]`.

`RESULTS` are the results as they are sent, for tests to compare with what arrives.
"""

import base64
import hashlib
import json
import random
import sys

PNG = b"\x89PNG\r\n\x1a\n" + random.Random(1).randbytes(600)
WAV = b"RIFF" + random.Random(2).randbytes(600)
META = {"example.com/trace": ["a", None, 1.5], "ui": {"resourceUri": "ui://rich/app"}}
ANNOTATIONS = {
    "audience": ["user", "assistant"],
    "priority": 0.25,
    "lastModified": "2026-01-02T03:04:05Z",
    "newHint": {"a": None},
}
EXTRA = {"annotations": ANNOTATIONS, "_meta": META, "futureField": [None, {"x": 1}]}
ICONS = [{"src": "data:,x", "mimeType": "image/svg+xml", "sizes": ["any"], "future": True}]


def encode(data):
    return base64.b64encode(data).decode()


def image(data=PNG, **fields):
    return {"type": "image", "data": encode(data), "mimeType": "image/png", **fields}


def text(words, **fields):
    return {"type": "text", "text": words, **fields}


LINK = {
    "type": "resource_link",
    "uri": "memo://notes/1",
    "name": "note",
    "title": "A note",
    "description": "What was said.",
    "mimeType": "text/plain",
    "size": 12,
    "icons": ICONS,
    **EXTRA,
}
EMBEDDED_TEXT = {
    "type": "resource",
    "resource": {"uri": "memo://t", "mimeType": "text/plain", "text": "said", "_meta": META, "later": 1},
    **EXTRA,
}
EMBEDDED_BLOB = {
    "type": "resource",
    "resource": {"uri": "memo://b", "mimeType": "application/pdf", "blob": encode(WAV), "_meta": META},
    **EXTRA,
}
AUDIO = {"type": "audio", "data": encode(WAV), "mimeType": "audio/wav", **EXTRA}
ALL = [text("first", **EXTRA), image(**EXTRA), AUDIO, LINK, EMBEDDED_TEXT, EMBEDDED_BLOB, text("last")]
RESULTS = {
    "plain": {"content": [text("plain")]},
    "said": {"content": [text("said", **EXTRA)], "_meta": META, "futureResult": {"x": None}},
    "picture": {"content": [image(**EXTRA)]},
    "sound": {"content": [AUDIO]},
    "link": {"content": [LINK]},
    "embedded_text": {"content": [EMBEDDED_TEXT]},
    "embedded_blob": {"content": [EMBEDDED_BLOB]},
    "everything": {"content": ALL, "_meta": META, "isError": False},
    "both": {"content": [image()], "structuredContent": {"n": 1, "later": None}},
    "failing": {
        "content": [text("It failed."), image(**EXTRA)],
        "structuredContent": {"code": 7},
        "isError": True,
        "_meta": META,
    },
    "screenshot": {"content": [text("The page:"), image()]},
    "empty": {"content": []},
    "line_breaks": {
        "content": [{"type": "image", "data": "\n".join((encode(PNG), "")), "mimeType": "image/png"}]
    },
    "unknown_block": {"content": [{"type": "hologram", "depth": [1], **EXTRA}, text("after")]},
}
SCHEMA = {
    "type": "object",
    "properties": {
        "image": {"type": "string", "contentEncoding": "base64"},
        "byte": {"type": "string", "format": "byte"},
        "uri": {"type": "string", "format": "uri"},
        "plain": {"type": "string"},
        "any": {},
    },
}
TOOL_FIELDS = {
    "both": {"outputSchema": {"type": "object", "required": ["n"]}},
    "upload": {"inputSchema": SCHEMA},
}


def large(size):
    """Return incompressible bytes, the same for each size."""
    return random.Random(size).randbytes(size)


def call(name, args):
    if name == "large":
        return {"content": [image(large(args["size"]))]}
    if name == "large_blob":
        resource = {"uri": "memo://large", "mimeType": "application/zip", "blob": encode(large(args["size"]))}
        return {"content": [{"type": "resource", "resource": resource}]}
    if name == "large_text":
        return {"content": [text("word " * args["size"]), image()]}
    if name == "upload":
        received = {key: hashlib.sha256(value.encode()).hexdigest() for key, value in args.items()}
        return {"content": [text(json.dumps(received))]}
    return RESULTS[name]


def namespaced(value):
    """Return what the server `rich` sends with the URIs that clients of OneTool see."""
    words = json.dumps(value).replace('"memo://', '"ot.rich+memo://').replace('"ui://', '"ui://ot.rich+')
    return json.loads(words)


def respond(method, params, is_modern):
    if method == "initialize":
        return {
            "protocolVersion": params["protocolVersion"],
            "capabilities": {"tools": {}},
            "serverInfo": {"name": "rich", "version": "1"},
        }
    if method == "server/discover":
        return {"supportedVersions": ["2026-07-28"], "capabilities": {"tools": {}}, "ttlMs": 0}
    if method == "tools/list":
        names = [*RESULTS, "large", "large_blob", "large_text", "upload"]
        tools = [
            {"name": name, "inputSchema": {"type": "object"}, **TOOL_FIELDS.get(name, {})} for name in names
        ]
        return {"tools": tools} | ({"ttlMs": 0, "cacheScope": "private"} if is_modern else {})
    return call(params["name"], params.get("arguments") or {})


METHODS = ("initialize", "server/discover", "tools/list", "tools/call")


def serve(is_modern):
    for line in sys.stdin:
        message = json.loads(line)
        if "id" not in message:
            continue
        if message["method"] not in METHODS or (is_modern and message["method"] == "initialize"):
            response = {"error": {"code": -32601, "message": "Method not found"}}
        else:
            result = respond(message["method"], message.get("params") or {}, is_modern)
            response = {"result": {**result, "resultType": "complete"} if is_modern else result}
            if is_modern and message["method"] == "server/discover":
                response["result"]["cacheScope"] = "private"
        sys.stdout.write(json.dumps({"jsonrpc": "2.0", "id": message["id"], **response}) + "\n")
        sys.stdout.flush()


if __name__ == "__main__":
    serve(sys.argv[1:] == ["modern"])
