"""Messages that a client posts to one process and that concern a request at another one."""

import json
import time
from collections.abc import Mapping
from hashlib import sha256
from typing import Any

from mcp.shared.dispatcher import coerce_request_id
from mcp.shared.jsonrpc_dispatcher import cancelled_request_id_from_params
from mcp_types import RequestId
from pydantic_core import from_json
from starlette.responses import Response

from onetool.domain.calls.question import CANCELLED, Answer
from onetool.domain.identity.principal import current_principal
from onetool.domain.jobs.job_errors import JobError
from onetool.runtime.runtime import Runtime

from .client_sessions import REQUEST_PREFIX, ClientSession
from .served_session import CANCELLED_NOTICE, HttpRequestRefused, ServedSession

CANCEL = "cancel."
"""The entry of a session for a request that was cancelled at another process."""
MAX_CANCELLATIONS = 100
CANCELLATION_LIFETIME_S = 60.0
"""Cancellations of one session that wait for the process with the request, and for how long they may."""
CONCERNS_OTHERS = (b"cancelled", REQUEST_PREFIX.encode())
"""Messages without these texts concern only the process that receives them."""


class PostedElsewhere:
    """Writes responses and cancellations for other processes to the store, and reads those of others."""

    def __init__(self, runtime: Runtime) -> None:
        self._jobs, self._store = runtime.jobs, runtime.client_sessions

    async def pass_on(self, served: ServedSession, body: bytes) -> Response | None:
        """Pass a message on to another process. Return the response to it, or None if it is for this one.

        Raises:
            HttpRequestRefused: It is a response that no one waits for.
        """
        if not any(text in body for text in CONCERNS_OTHERS):
            return None
        message = parse(body)
        id = message.get("id")
        if message.get("method") == CANCELLED_NOTICE:
            return await self._pass_on_cancellation(served, message.get("params"))
        if "method" not in message and isinstance(id, str) and id.startswith(REQUEST_PREFIX):
            return await self._pass_on_response(served.session, id, message.get("result"))
        return None

    async def deliver(self, served: ServedSession, entries: Mapping[str, str]) -> None:
        """Cancel the requests of this process whose cancellation was posted to another one."""
        for name, (id, _) in _cancellations(entries).items():
            if served.runs(id):
                await self._store.remove(served.session.id, name)
                await served.cancel(id)

    async def _pass_on_response(self, session: ClientSession, id: str, result: Any) -> Response | None:
        request = session.request_of(id)
        if request is None:
            raise HttpRequestRefused("The request is not one of this session", 400)
        if self._jobs.expects(*request):
            return None
        response = Answer("accept", result) if isinstance(result, dict) else CANCELLED
        try:
            await self._jobs.respond(request.job, current_principal(), request.name, response)
        except JobError as error:
            raise HttpRequestRefused(str(error), 400) from error
        return Response(status_code=202)

    async def _pass_on_cancellation(self, served: ServedSession, params: Any) -> Response | None:
        id = cancelled_request_id_from_params(params) if isinstance(params, dict) else None
        if id is None or served.runs(id):
            return None
        session, now = served.session.id, time.time()
        waiting = _cancellations(await self._store.read(session))
        for name, (_, at) in waiting.items():
            if not 0 <= now - at <= CANCELLATION_LIFETIME_S:
                await self._store.remove(session, name)
        if len(waiting) < MAX_CANCELLATIONS:
            await self._store.put(session, _cancellation_name(id), json.dumps([id, now]))
        return Response(status_code=202)


def parse(body: bytes) -> Mapping[str, Any]:
    """Return a JSON object; an empty one for anything else, which the transport rejects."""
    try:
        message = from_json(body)
    except ValueError:
        return {}
    return message if isinstance(message, dict) else {}


def _cancellation_name(id: RequestId) -> str:
    return CANCEL + sha256(json.dumps(coerce_request_id(id)).encode()).hexdigest()


def _cancellations(entries: Mapping[str, str]) -> dict[str, tuple[RequestId, float]]:
    """Return the ids of the cancelled requests and the times of their cancellation, by name."""
    found = {name: json.loads(text) for name, text in entries.items() if name.startswith(CANCEL)}
    return {name: (id, at) for name, (id, at) in found.items()}
