"""The least that an HTTP server is: `http_server.py PORT` answers, with an UPSTREAM it forwards."""

import sys
from typing import Any

import httpx2
import jsonschema_rs
import orjson
import uvicorn

RAIN = b'{"city":"Oslo","rain":[1,2,3]}'
SCHEMA = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}


class Forwarder:
    """Checks the arguments, asks the upstream over a pooled client, wraps the answer."""

    def __init__(self, upstream: str) -> None:
        self._upstream = upstream
        self._valid = jsonschema_rs.validator_for(SCHEMA)
        self._client = httpx2.AsyncClient(trust_env=False)

    async def answer(self, body: bytes) -> bytes:
        """Make one call."""
        args = orjson.loads(body)["args"]
        self._valid.validate(args)
        answer = await self._client.get(f"http://127.0.0.1:{self._upstream}/rain/{args['city']}")
        return orjson.dumps({"ok": True, "value": orjson.loads(answer.content)})


forwarder = Forwarder(sys.argv[2]) if len(sys.argv) > 2 else None


async def app(scope: Any, receive: Any, send: Any) -> None:
    """Answer one request."""
    body, is_more = b"", True
    while is_more:
        message = await receive()
        body += message.get("body", b"")
        is_more = message.get("more_body", False)
    content = await forwarder.answer(body) if forwarder else RAIN
    head = [(b"content-type", b"application/json"), (b"content-length", str(len(content)).encode())]
    await send({"type": "http.response.start", "status": 200, "headers": head})
    await send({"type": "http.response.body", "body": content})


uvicorn.run(app, port=int(sys.argv[1]), log_level="error", lifespan="off")
