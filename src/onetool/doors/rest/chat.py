"""`/chat`: a question to a model that uses the tools, answered as a stream."""

from typing import Annotated, Any

from fastapi import APIRouter, Path
from fastapi.responses import StreamingResponse

from .chats import Chats
from .problems import Failed, documented
from .screen_shapes import ChatBody, DecisionBody
from .streams import STREAM, EventStream

EVENTS = """What happens, as server-sent events whose data is JSON: `session` {id}, `text` {text}, \
`call` {id, name, args}, `approval` {id, tool, args}, `result` {id, ok, data or error, meta}, and at the end \
`done` with the whole answer. Lines that begin with a colon only say that the server is still there."""
KINDS = ("session", "text", "call", "approval", "result", "done")
EVENT = {
    "type": "object",
    "properties": {
        "event": {"enum": KINDS},
        "data": {"type": "string", "contentMediaType": "application/json"},
    },
    "required": ["event", "data"],
}
ANSWERS: dict[int | str, dict[str, Any]] = {
    **documented(409),
    200: {"description": EVENTS, "content": {STREAM: {"schema": EVENT}}},
}


def chat_routes(chats: Chats) -> APIRouter:
    """Make the routes of conversations with a model."""
    routes = APIRouter(prefix="/chat", tags=["chat"])

    @routes.post("", response_class=StreamingResponse, responses=ANSWERS)
    async def chat(body: ChatBody) -> EventStream:
        """Ask a question. Who leaves before the end cancels the rest; what was said is kept.

        A tool that changes things waits for an answer to its `approval`, for five minutes.
        """
        return await chats.ask(body)

    @routes.post("/approvals/{id}", status_code=204, responses=documented(404))
    async def approve(id: Annotated[str, Path(max_length=100)], body: DecisionBody) -> None:
        """Let a tool run or not, which waits for that; each question is answered once."""
        if not chats.approvals.decide(id, body.decision):
            raise Failed(404, f"Nothing waits for an answer to {id!r}: it was given, or came too late.")

    return routes
