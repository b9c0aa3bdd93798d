"""`/chat`: ask a model that can call tools."""

from typing import Any

from fastapi import APIRouter
from fastapi.responses import StreamingResponse

from onetool.interfaces.rest.active_chats import ActiveChats
from onetool.interfaces.rest.problems import problem_responses
from onetool.interfaces.rest.schemas.chat import ChatBody
from onetool.interfaces.rest.sse import EVENT_STREAM, EventStream

EVENTS = """Server-sent events with JSON data: `session` {id}, `text` {text}, `call` {id, name, args}, \
`question` {job, id, kind, server, message, schema, url, approval}, \
`result` {id, ok, data or error, meta}, and finally `done` with the complete result. Lines that start \
with a colon are heartbeats."""
EVENT_KINDS = ("session", "text", "call", "question", "result", "done")
EVENT_SCHEMA = {
    "type": "object",
    "properties": {
        "event": {"enum": EVENT_KINDS},
        "data": {"type": "string", "contentMediaType": "application/json"},
    },
    "required": ["event", "data"],
}
RESPONSES: dict[int | str, dict[str, Any]] = {
    **problem_responses(409),
    200: {"description": EVENTS, "content": {EVENT_STREAM: {"schema": EVENT_SCHEMA}}},
}


def chat_routes(chats: ActiveChats) -> APIRouter:
    """Create the chat routes."""
    routes = APIRouter(prefix="/chat", tags=["chat"])

    @routes.post("", response_class=StreamingResponse, responses=RESPONSES)
    async def chat(body: ChatBody) -> EventStream:
        """Ask a question and stream the response.

        Disconnecting cancels the question; the messages so far are stored. A call of a tool that is not
        read-only, and a server that wants to know something, send `question` and wait for the answer, which
        goes to `POST /jobs/{id}/answers`. An approval waits as long as `approval.timeout_s` says.
        """
        return await chats.ask(body)

    return routes
