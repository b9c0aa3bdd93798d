"""Sessions of clients of the earlier protocol over HTTP, which work at every process of the user."""

import json
import logging
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, nullcontext
from typing import Any

import anyio
import mcp_types as types
from anyio.abc import TaskStatus
from mcp.server.connection import Connection
from mcp.server.runner import ServerRunner, serve_connection
from mcp.server.streamable_http import MCP_SESSION_ID_HEADER, StreamableHTTPServerTransport
from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
from mcp.shared.jsonrpc_dispatcher import JSONRPCDispatcher
from mcp.shared.transport_context import TransportContext
from pydantic import ValidationError
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response

from onetool.domain.identity.principal import LOCAL, current_principal

from .client_calls import ASKABLE, CLIENT_SESSION
from .client_sessions import LIFETIME_S, Agreed, ClientSession, SessionSeal, TooMuchDeclared
from .posted_elsewhere import PostedElsewhere, parse
from .served_session import HttpRequestRefused, ServedSession
from .server import OneToolServer

log = logging.getLogger(__name__)

WATCH_INTERVAL_S = 0.2
"""Seconds between two looks at what other processes have written to a session."""
MAX_HELD, IDLE_S = 200, 300.0
"""Sessions of one endpoint above which this process gives up unused ones, and seconds after which it does.

Many clients never end theirs. A session that was given up is continued by its next request.
"""
REAP_INTERVAL_S = 600.0
RETRY_INTERVAL_S = 5.0
ENDED = "ended"
"""The entry of a session that the client has ended."""


class HttpSessions(StreamableHTTPSessionManager):
    """Serves clients over HTTP. The session id of an earlier client contains what `initialize` agreed on."""

    def __init__(self, server: OneToolServer, max_bytes: int) -> None:
        super().__init__(server, max_request_body_size=max_bytes, session_idle_timeout=IDLE_S)
        self._notices = server.notices
        self._store = server.runtime.client_sessions
        self._seal = SessionSeal(server.runtime.request_key, server.endpoint)
        self._elsewhere = PostedElsewhere(server.runtime)
        self._served: dict[str, ServedSession] = {}
        """By session id, those used last at the end."""

    @asynccontextmanager
    async def run(self) -> AsyncIterator[None]:
        """Serve sessions, and watch what other processes write to them."""
        async with super().run():
            tasks: Any = self._task_group
            tasks.start_soon(self._watch)
            yield

    async def _handle_stateful_request(self, scope: Any, receive: Any, send: Any) -> None:
        request = Request(scope, receive)
        try:
            body = await request.body() if request.method == "POST" else b""
        except ClientDisconnect:
            return
        receive = _replay(body, receive) if request.method == "POST" else receive
        sealed, agreed = request.headers.get(MCP_SESSION_ID_HEADER), _agreed(body)
        if sealed is None and agreed is None:
            await super()._handle_stateful_request(scope, receive, send)  # responds with an error
            return
        credential = _credential(request)
        app: Any
        try:
            served = await self._find(sealed, agreed, credential)
            response = await self._respond(served, request.method, body)
            app = response or served.transport.handle_request
        except HttpRequestRefused as error:
            app = _error(str(error), error.status)
        except OSError as error:
            log.error("cannot use the stored sessions of MCP clients: %s", error)
            app = _error("The session cannot be used", 503)
        await app(scope, receive, send)

    async def _find(self, sealed: str | None, agreed: Agreed | None, credential: str) -> ServedSession:
        """Return the session of a request, as it is now, or a new one.

        Raises:
            HttpRequestRefused: There is no such session, or none can be created.
        """
        if sealed is None:
            assert agreed is not None  # noqa: S101 - for the type checker
            return await self._start(*self._create(agreed, credential))
        session = self._seal.open(sealed, credential)
        if session is None:
            raise HttpRequestRefused("Session not found", 404)
        if agreed is not None:
            raise HttpRequestRefused("The session is initialized already", 400)
        async with self._session_creation_lock:
            served = self._served.get(session.id)
            if served is None or served.transport.is_terminated:
                served = await self._continue(sealed, session)
            else:
                self._served[session.id] = self._served.pop(session.id)
        await self._refresh(served)
        if served.transport.is_terminated:
            raise HttpRequestRefused("Session not found", 404)
        return served

    def _create(self, agreed: Agreed, credential: str) -> tuple[str, ClientSession]:
        try:
            return self._seal.create(agreed, credential)
        except TooMuchDeclared as error:
            raise HttpRequestRefused(str(error), 400) from error

    async def _continue(self, sealed: str, session: ClientSession) -> ServedSession:
        """Serve a session that another process has served, or this one a while ago."""
        if ENDED in await self._store.read(session.id):
            raise HttpRequestRefused("Session not found", 404)
        return await self._start(sealed, session)

    async def _start(self, sealed: str, session: ClientSession) -> ServedSession:
        if len(self._served) >= MAX_HELD:
            unused = next((held for held in self._served.values() if not held.is_in_use), None)
            if unused is not None:
                self._served.pop(unused.session.id)
                await self._discard(unused)
        if self.max_sessions is not None and len(self._served) >= self.max_sessions:
            raise HttpRequestRefused("Too many open sessions", 503)
        tasks: Any = self._task_group
        served: ServedSession = await tasks.start(self._run_session, sealed, session)
        return served

    async def _run_session(
        self, sealed: str, session: ClientSession, *, task_status: TaskStatus[ServedSession]
    ) -> None:
        """Serve a session until it ends or no request was in progress for long. It can be served again."""
        transport = StreamableHTTPServerTransport(sealed, idle_timeout=self.session_idle_timeout)
        async with transport.connect() as (reader, writer):
            dispatcher: JSONRPCDispatcher[TransportContext] = JSONRPCDispatcher(
                reader, writer, inline_methods=frozenset({"initialize"})
            )
            connection = Connection.from_envelope(*session.agreed, outbound=dispatcher)
            connection.session_id, connection.state[CLIENT_SESSION] = session.id, session
            served = self._served[session.id] = ServedSession(session, transport, dispatcher, connection)
            self._notices.connect(connection)
            task_status.started(served)
            try:
                with transport.idle_scope or nullcontext():
                    await serve_connection(
                        self.app, dispatcher, connection=connection, lifespan_state=self._lifespan_state
                    )
            except Exception:  # a session must not end the others
                log.exception("a session of an MCP client failed")
            finally:
                if self._served.get(session.id) is served:
                    del self._served[session.id]
                await self._discard(served)

    # What other processes must know, and what they have written

    async def _respond(self, served: ServedSession, method: str, body: bytes) -> Response | None:
        """Respond to a request that ends the session, or whose message is for another process."""
        if method == "DELETE":
            await self._store.put(served.session.id, ENDED, "")
            await self._discard(served)
            return Response()
        return await self._elsewhere.pass_on(served, body)

    async def _refresh(self, served: ServedSession) -> None:
        """Apply what other processes have written to a session."""
        generation = self._store.generation(served.session.id)
        if generation == served.generation:
            return
        entries = await self._notices.refresh(served.connection)
        served.generation = generation
        if ENDED in entries:
            await self._discard(served)
            return
        await self._elsewhere.deliver(served, entries)

    async def _discard(self, served: ServedSession) -> None:
        """End a session at this process."""
        await self._discard_session(served.session.id, served.transport)

    async def _watch(self) -> None:
        """Look again and again at the sessions with requests in progress."""
        reaped_at = 0.0
        while True:
            await anyio.sleep(WATCH_INTERVAL_S)
            try:
                for served in list(self._served.values()):
                    if served.is_in_use:
                        await self._refresh(served)
                if time.monotonic() - reaped_at > REAP_INTERVAL_S:
                    reaped_at = time.monotonic()
                    await self._store.reap(time.time() - LIFETIME_S)
            except Exception as error:  # noqa: BLE001 - the root of a background task
                log.error("cannot read the stored sessions of MCP clients: %s", error)
                await anyio.sleep(RETRY_INTERVAL_S)


def _credential(request: Request) -> str:
    """Return to whom a session belongs: the principal, or the token if there is only one user."""
    principal = current_principal()
    if principal.id == LOCAL.id:
        return request.headers.get("authorization", "")
    return json.dumps([principal.id, principal.patterns, principal.key])  # its endpoint names the profile


def _agreed(body: bytes) -> Agreed | None:
    """Return what a request to initialize agrees on; None for every other message."""
    if b"initialize" not in body:
        return None
    message = parse(body)
    if message.get("method") != "initialize" or "id" not in message:
        return None
    try:
        declared, version = ServerRunner._negotiate_initialize(message.get("params"))
    except ValidationError:
        return None
    fields = declared.model_dump(by_alias=True, mode="json", exclude_none=True)
    client = {name: fields["clientInfo"][name] for name in ("name", "version")}
    capabilities = {key: value for key, value in fields["capabilities"].items() if key in ASKABLE}
    return Agreed(version, client, capabilities)


def _replay(body: bytes, receive: Any) -> Any:
    """Return a function that receives a body that was read before, and then what follows it."""
    messages = [{"type": "http.request", "body": body, "more_body": False}]

    async def replay() -> Any:
        return messages.pop() if messages else await receive()

    return replay


def _error(message: str, status: int) -> Response:
    """Return a response with an error of JSON-RPC that belongs to no request."""
    code = types.INVALID_REQUEST if status < 500 else types.INTERNAL_ERROR
    error = types.JSONRPCError(jsonrpc="2.0", id=None, error=types.ErrorData(code=code, message=message))
    text = error.model_dump_json(by_alias=True, exclude_unset=True)
    return Response(text, status, media_type="application/json")
