"""`/chat`: ask a model that can call tools, and decide approvals."""

from typing import Annotated, Any

from fastapi import APIRouter, Path
from fastapi.responses import StreamingResponse

from onetool.interfaces.rest.active_chats import ActiveChats
from onetool.interfaces.rest.approvals import question_json
from onetool.interfaces.rest.problems import ProblemError, problem_responses
from onetool.interfaces.rest.schemas.chat import ChatBody, DecisionBody, QuestionBody
from onetool.interfaces.rest.sse import EVENT_STREAM, EventStream

ApprovalId = Annotated[str, Path(max_length=100)]
EVENTS = """Server-sent events with JSON data: `session` {id}, `text` {text}, `call` {id, name, args}, \
`approval` {id, tool, args, arguments, digest}, `result` {id, ok, data or error, meta}, and \
finally `done` with the complete result. Lines that start with a colon are heartbeats."""
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
        read-only sends `approval` and waits for the decision as long as `approval.timeout_s` says.
        """
        return await chats.ask(body)

    @routes.get("/approvals/{id}", responses=problem_responses(404))
    async def get_approval(id: ApprovalId) -> QuestionBody:
        """Return everything about a call that waits for approval, with nothing hidden but secrets."""
        request = chats.approvals.request(id)
        if request is None:
            raise not_pending(id)
        arguments = await chats.threads.run(request.complete_arguments)
        return QuestionBody.model_validate(question_json(request, arguments))

    @routes.post("/approvals/{id}", status_code=204, responses=problem_responses(404))
    async def decide_approval(id: ApprovalId, body: DecisionBody) -> None:
        """Approve or deny a call that waits for approval. Each approval can be decided once."""
        if not chats.approvals.decide(id, body.decision):
            raise not_pending(id)

    return routes


def not_pending(id: str) -> ProblemError:
    """Return the error for an approval that nothing waits for."""
    return ProblemError(404, f"Approval {id!r} is not pending. It was already decided or has timed out.")
