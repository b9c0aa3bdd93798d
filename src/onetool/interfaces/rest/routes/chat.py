"""`/chat`: ask a model that can call tools, and decide approvals."""

from typing import Annotated, Any

from fastapi import APIRouter, Path
from fastapi.responses import StreamingResponse

from onetool.interfaces.rest.active_chats import ActiveChats
from onetool.interfaces.rest.problems import ProblemError, problem_responses
from onetool.interfaces.rest.schemas.chat import ChatBody, DecisionBody
from onetool.interfaces.rest.sse import EVENT_STREAM, EventStream

EVENTS = """Server-sent events with JSON data: `session` {id}, `text` {text}, `call` {id, name, args}, \
`approval` {id, tool, args}, `result` {id, ok, data or error, meta}, and finally `done` with the complete \
result. Lines that start with a colon are heartbeats."""
EVENT_KINDS = ("session", "text", "call", "approval", "result", "done")
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
        read-only sends `approval` and waits up to five minutes for the decision.
        """
        return await chats.ask(body)

    @routes.post("/approvals/{id}", status_code=204, responses=problem_responses(404))
    async def decide_approval(id: Annotated[str, Path(max_length=100)], body: DecisionBody) -> None:
        """Approve or deny a call that waits for approval. Each approval can be decided once."""
        if not chats.approvals.decide(id, body.decision):
            raise ProblemError(
                404, f"Approval {id!r} is not pending. It was already decided or has timed out."
            )

    return routes
