"""A minimal HTTP server: `http_server.py PORT` responds, `http_server.py PORT UPSTREAM` forwards."""

import sys
from typing import Any

import httpx2
import jsonschema_rs
import orjson
import uvicorn

RAIN = b'{"city":"Oslo","rain":[1,2,3]}'
SCHEMA = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}


class Forwarder:
    """Validates arguments, calls the upstream with a pooled client and wraps the response."""

    def __init__(self, upstream: str) -> None:
        self._upstream = upstream
        self._validator = jsonschema_rs.validator_for(SCHEMA)
        self._client = httpx2.AsyncClient(trust_env=False)

    async def forward(self, body: bytes) -> bytes:
        """Forward one call."""
        args = orjson.loads(body)["args"]
        self._validator.validate(args)
        response = await self._client.get(f"http://127.0.0.1:{self._upstream}/rain/{args['city']}")
        return orjson.dumps({"ok": True, "value": orjson.loads(response.content)})


forwarder = Forwarder(sys.argv[2]) if len(sys.argv) > 2 else None


async def app(scope: Any, receive: Any, send: Any) -> None:
    """Handle one request."""
    body, has_more = b"", True
    while has_more:
        message = await receive()
        body += message.get("body", b"")
        has_more = message.get("more_body", False)
    content = await forwarder.forward(body) if forwarder else RAIN
    headers = [(b"content-type", b"application/json"), (b"content-length", str(len(content)).encode())]
    await send({"type": "http.response.start", "status": 200, "headers": headers})
    await send({"type": "http.response.body", "body": content})


uvicorn.run(app, port=int(sys.argv[1]), log_level="error", lifespan="off")
