"""`/sessions`: list, show, rename and delete stored conversations."""

import json
from typing import Annotated, Any

from fastapi import APIRouter, Path, Query

from onetool.domain.bundles.page_tokens import read_token, write_token
from onetool.domain.chat.messages import Message
from onetool.domain.chat.transcript import InvalidSession, Transcript, replay
from onetool.interfaces.rest.active_chats import ActiveChats, session_busy
from onetool.interfaces.rest.params import json_response
from onetool.interfaces.rest.problems import ProblemError, problem_responses
from onetool.interfaces.rest.schemas.sessions import SessionPage, SessionResponse, TitleBody, TitleResponse
from onetool.runtime.runtime import Runtime

PAGE_SIZE = 50
SessionID = Annotated[
    str,
    Path(
        alias="id", json_schema_extra={"pattern": "^[A-Za-z0-9][A-Za-z0-9._-]{0,99}$", "examples": ["work"]}
    ),
]
Cursor = Annotated[str | None, Query(max_length=1_000, description="`next` of the previous page.")]


def session_routes(runtime: Runtime, chats: ActiveChats) -> APIRouter:
    """Create the session routes."""
    routes = APIRouter(prefix="/sessions", tags=["sessions"])
    reader = _SessionReader(runtime)

    @routes.get("", response_model=SessionPage, responses=problem_responses())
    async def list_sessions(cursor: Cursor = None) -> Any:
        """List conversations, most recently updated first."""
        return json_response(runtime.state.redactor.mask(await reader.page(cursor)))

    @routes.get("/{id}", response_model=SessionResponse, responses=problem_responses(404))
    async def get_session(session: SessionID) -> Any:
        """Return the messages and calls of a conversation."""
        transcript = await reader.read(session)
        # On a thread, because masking a long conversation takes time.
        return json_response(await runtime.threads.run(_session_json, runtime, session, transcript))

    @routes.patch("/{id}", response_model=TitleResponse, responses=problem_responses(404))
    async def rename_session(session: SessionID, body: TitleBody) -> Any:
        """Change the title of a conversation."""
        await reader.read(session)
        record = {"type": "title", "title": body.title.strip()}
        await runtime.sessions.append(session, [record])
        return json_response(
            runtime.state.redactor.mask({"id": session, "title": (await reader.read(session)).title})
        )

    @routes.delete("/{id}", status_code=204, responses=problem_responses(404, 409))
    async def delete_session(session: SessionID) -> None:
        """Delete a conversation permanently."""
        await reader.read(session)
        if await chats.is_busy(session):
            raise session_busy(session)
        await chats.approvals.discard(session)
        await runtime.sessions.delete(session)

    return routes


class _SessionReader:
    """Reads stored conversations and maps errors to problems."""

    def __init__(self, runtime: Runtime) -> None:
        self._runtime = runtime

    async def page(self, cursor: str | None) -> dict[str, Any]:
        start: dict[str, Any] = {"kind": "sessions", "after": None}
        after = start["after"] if cursor is None else read_token(cursor, start)["after"]
        try:
            page = await self._runtime.sessions.page(after, PAGE_SIZE)
        except ValueError:
            raise ProblemError(
                400, "Invalid cursor. Use `next` of the previous page, or omit it to start over."
            ) from None
        next_cursor = write_token({**start, "after": page.next}) if page.next else None
        return {"sessions": [summary.to_json() for summary in page.items], "next": next_cursor}

    async def read(self, session: str) -> Transcript:
        try:
            records = await self._runtime.sessions.read(session)
        except InvalidSession as error:
            raise ProblemError(400, str(error)) from None
        if not records:
            raise ProblemError(404, f"Session {session!r} not found.")
        return await self._runtime.threads.run(replay, records)


def _session_json(runtime: Runtime, session: str, transcript: Transcript) -> Any:
    messages = [_message_json(message) for message in transcript.messages]
    return runtime.state.redactor.mask({"id": session, "title": transcript.title, "messages": messages})


def _message_json(message: Message) -> dict[str, Any]:
    calls = [
        {"id": call.id, "name": call.name, "args": _parse_args(call.arguments_text)} for call in message.calls
    ]
    return {
        "role": message.role,
        "text": message.text_for_user,
        "calls": calls,
        "callId": message.call_id,
        "name": message.name,
        "failed": message.failed,
        "content": [reference.to_json() for reference in message.media_for("user")],
        "at": message.at,
    }


def _parse_args(text: str) -> Any:
    """Parse the arguments that a model wrote, or return the text if it is not JSON."""
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return text
