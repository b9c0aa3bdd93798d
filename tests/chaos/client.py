"""A client of one workspace, which records every request and searches all bytes of the responses."""

import asyncio
import json
import random
from collections.abc import Collection
from typing import Any, NamedTuple

import httpx2

from chaos.installation import Place
from chaos.ledger import BROKEN, HUNG, OK, Change, Exchange, Ledger, RecordedCall, now, shorten
from chaos.processes import ServerProcess

TIMEOUT_S = 60.0
ACCEPT = {"Accept": "application/json, text/event-stream"}
UNAVAILABLE = ("database", "workspace is unavailable", "read-only", "could not keep the session reserved")
"""Words in the texts of errors over MCP and in code, which have no reason field."""


class Reply(NamedTuple):
    """A response, or what is known without one."""

    outcome: str
    status: int = 0
    body: Any = None
    text: str = ""
    headers: Any = None


class ChaosClient:
    """Sends each request to any of the servers."""

    def __init__(
        self, place: Place, servers: list[ServerProcess], ledger: Ledger, rng: random.Random
    ) -> None:
        self.place, self.servers, self.ledger, self.rng = place, servers, ledger, rng
        self.key = place.key
        self._http = httpx2.AsyncClient(
            verify=False, trust_env=False, timeout=None, limits=httpx2.Limits(max_keepalive_connections=0)
        )

    async def close(self) -> None:
        """Close all connections."""
        await self._http.aclose()

    async def request(
        self,
        kind: str,
        method: str,
        path: str,
        *,
        expected: Collection[str] = (),
        key: str = "",
        server: ServerProcess | None = None,
        headers: dict[str, str] | None = None,
        **options: Any,
    ) -> Reply:
        """Send a request below the path of the workspace, or to the server if it starts with `//`."""
        server = server or self.rng.choice(self.servers)
        slug, started = self.place.slug, now()
        url = f"{server.url}{path[1:]}" if path.startswith("//") else f"{server.url}/w/{slug}{path}"
        sent = {"Authorization": f"Bearer {key or self.key}"} | (headers or {})
        try:
            async with asyncio.timeout(TIMEOUT_S):
                response = await self._http.request(method, url, headers=sent, **options)
            reply = read_reply(response)
            self.ledger.scan(slug, kind, response.content)
            self.ledger.scan(slug, kind, repr(response.headers).encode())
        except httpx2.TransportError as error:
            reply = Reply(BROKEN, text=repr(error))
        except TimeoutError:
            reply = Reply(HUNG, text=f"{method} {path} {options.get('json')}")
        is_expected = reply.outcome == OK or reply.outcome in expected
        detail = "" if reply.outcome == OK else shorten(reply.text)
        times = (started, now())
        self.ledger.exchanges.append(
            Exchange(kind, slug, server.name, *times, reply.outcome, is_expected, detail)
        )
        self._note_call(server.name, reply)
        return reply

    async def change(
        self,
        subject: str,
        target: str,
        value: str | None,
        action: str,
        path: str,
        *,
        audited: str = "",
        method: str = "PUT",
        **options: Any,
    ) -> Reply:
        """Request a change, and record whether it was acknowledged.

        audited: its target in the audit log, if that is another one.
        """
        reply = await self.request(f"change {subject}", method, path, **options)
        fields = (value, action, audited or target, verdict_of(reply), reply.outcome == HUNG)
        self.ledger.changes.append(Change(self.place.slug, subject, target, *fields))
        return reply

    def _note_call(self, server: str, reply: Reply) -> None:
        meta = reply.body.get("meta") if isinstance(reply.body, dict) else None
        if isinstance(meta, dict) and "callId" in meta and reply.status != 503:
            self.ledger.recorded.append(RecordedCall(self.place.slug, server, meta["callId"], now()))


def verdict_of(reply: Reply) -> str:
    """Return whether a change was acknowledged.

    After a 503, the connection to the database may have been lost while the change was committed.
    """
    if reply.outcome == OK:
        return "acknowledged"
    return "refused" if 400 <= reply.status < 500 else "unknown"


def read_reply(response: httpx2.Response) -> Reply:
    """Return a response with its outcome."""
    text, kind = response.text, response.headers.get("content-type", "")
    if kind.startswith("text/event-stream"):
        events = [line[6:] for line in text.splitlines() if line.startswith("data: ")]
        body = _parse(events[-1]) if events else None
    else:
        body = _parse(text) if "json" in kind else None
    if isinstance(body, dict) and (error := body.get("error") or body.get("toolError")):
        text = json.dumps(error)
    return Reply(_outcome(response.status_code, body), response.status_code, body, text, response.headers)


def _parse(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError:
        return None


def _outcome(status: int, body: Any) -> str:
    fields = body if isinstance(body, dict) else {}
    reason = (fields.get("meta") or {}).get("reason")
    if reason == "upstream":  # perhaps because the login to the server cannot be read
        reason = _guess(json.dumps(fields.get("error")), reason)
    if status >= 400:
        return f"call:{reason}" if reason else f"{status}"
    if "jsonrpc" in fields:
        return _rpc_outcome(fields)
    if "toolCalls" in fields:
        error = fields.get("error") or fields.get("toolError")
        return f"chat:{_guess(json.dumps(error))}" if error else OK
    if fields.get("ok") is False:
        return f"call:{reason}" if reason else f"run:{_guess(json.dumps(fields))}"
    return OK


def _rpc_outcome(message: dict[str, Any]) -> str:
    if "error" in message:
        text = json.dumps(message["error"])
        return f"rpc:{_guess(text, str(message['error'].get('code')))}"
    result = message.get("result", {})
    return OK if not result.get("isError") else f"mcp:{_guess(json.dumps(result))}"


def _guess(text: str, default: str = "error") -> str:
    """Return the reason that a text implies."""
    return "unavailable" if any(word in text.lower() for word in UNAVAILABLE) else default
