"""Small messages that take the place of messages above the limits."""

import re
from typing import Any

import orjson

MESSAGE_TOO_LARGE = -32096
"""JSON-RPC error code of the response that replaces a message above the limits."""
TOO_LARGE_METHOD = "notifications/onetool/too_large"
"""Method of the notification or request that replaces one above the limits."""
EDGE_BYTES = 4_096
"""Bytes at the start and at the end of a message in which its id is looked for."""
VERSION = rb'"jsonrpc"\s*:\s*"2\.0"\s*'
ID = rb'"id"\s*:\s*(\d{1,18}|"[^"\\]{0,200}")\s*'
FIRST_ID = re.compile(rb"\s*\{\s*(?:" + VERSION + rb",\s*)?" + ID)
LAST_ID = re.compile(ID + rb"(?:,\s*" + VERSION + rb")?\}\s*\Z")
FIRST_METHOD = re.compile(rb"\s*\{\s*(?:" + VERSION + rb",\s*)?(?:" + ID + rb',\s*)?"method"\s*:')


def replace_message(start: bytes, end: bytes, problem: str, request_id: int | str | None) -> bytes:
    """Return the message that replaces one of which only the start and the end are known.

    A response becomes an error for the request, if it is given, or for the id found in the message, or for
    none. A notification or a request of the server becomes one without parameters.
    """
    found = FIRST_ID.match(start) or LAST_ID.search(end)
    id_ = orjson.loads(found.group(1)) if found and request_id is None else request_id
    message: dict[str, Any] = {"jsonrpc": "2.0"}
    if request_id is None and FIRST_METHOD.match(start):
        return orjson.dumps(message | ({"id": id_} if found else {}) | {"method": TOO_LARGE_METHOD})
    error = {"code": MESSAGE_TOO_LARGE, "message": f"The server sent a message {problem}."}
    return orjson.dumps(message | {"id": id_, "error": error})
