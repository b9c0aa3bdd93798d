"""`/sessions`: conversations that were kept."""

import json
from typing import Annotated, Any

from fastapi import APIRouter, Path, Query

from onetool.domain.chat import Message
from onetool.domain.page_tokens import read_token, write_token
from onetool.domain.transcript import BadSession, Transcript, add_up
from onetool.runtime import Runtime

from .chats import Chats
from .problems import Failed, documented
from .queries import reply
from .screen_shapes import SessionAnswer, SessionPage, TitleBody, Titled

PAGE = 50
SessionID = Annotated[
    str,
    Path(
        alias="id", json_schema_extra={"pattern": "^[A-Za-z0-9][A-Za-z0-9._-]{0,99}$", "examples": ["work"]}
    ),
]
Cursor = Annotated[str | None, Query(max_length=1_000, description="`next` of the page before.")]


def session_routes(runtime: Runtime, chats: Chats) -> APIRouter:
    """Make the routes of kept conversations."""
    routes = APIRouter(prefix="/sessions", tags=["sessions"])
    kept = _Kept(runtime)

    @routes.get("", response_model=SessionPage, responses=documented())
    async def list_sessions(cursor: Cursor = None) -> Any:
        """List conversations, the one that was last added to first."""
        return reply(runtime.masked(await kept.page(cursor)))

    @routes.get("/{id}", response_model=SessionAnswer, responses=documented(404))
    async def show_session(session: SessionID) -> Any:
        """Show what was said, and which tools were called."""
        found = await kept.read(session)
        return reply(await runtime.threads.run(_shown, runtime, session, found))  # it may be long

    @routes.patch("/{id}", response_model=Titled, responses=documented(404))
    async def name_session(session: SessionID, body: TitleBody) -> Any:
        """Give a conversation a title."""
        await kept.read(session)
        record = {"type": "title", "title": body.title.strip()}
        await runtime.threads.run(runtime.sessions.append, session, [record])
        return reply(runtime.masked({"id": session, "title": (await kept.read(session)).title}))

    @routes.delete("/{id}", status_code=204, responses=documented(404, 409))
    async def delete_session(session: SessionID) -> None:
        """Remove a conversation for good."""
        await kept.read(session)
        if chats.is_busy(session):
            raise Failed(409, f"Session {session!r} is answering a question. Wait for its end.")
        chats.approvals.forget(session)
        await runtime.threads.run(runtime.sessions.delete, session)

    return routes


class _Kept:
    """Conversations as they are kept."""

    def __init__(self, runtime: Runtime) -> None:
        self._runtime = runtime

    async def page(self, cursor: str | None) -> dict[str, Any]:
        begin: dict[str, Any] = {"kind": "sessions", "after": None}
        after = begin["after"] if cursor is None else read_token(cursor, begin)["after"]
        try:
            page = await self._runtime.threads.run(self._runtime.sessions.page, after, PAGE)
        except ValueError:
            raise Failed(400, "cursor is not one that this listing gave. Leave it out.") from None
        following = write_token({**begin, "after": page.next}) if page.next else None
        return {"sessions": [head.to_json() for head in page.items], "next": following}

    async def read(self, session: str) -> Transcript:
        try:
            return await self._runtime.threads.run(self._read, session)
        except BadSession as error:
            raise Failed(400, str(error)) from None

    def _read(self, session: str) -> Transcript:
        records = self._runtime.sessions.read(session)
        if not records:
            raise Failed(404, f"There is no session {session!r}.")
        return add_up(records)


def _shown(runtime: Runtime, session: str, found: Transcript) -> Any:
    messages = [_message_json(message) for message in found.messages]
    return runtime.masked({"id": session, "title": found.title, "messages": messages})


def _message_json(message: Message) -> dict[str, Any]:
    calls = [{"id": call.id, "name": call.name, "args": _args(call.arguments_text)} for call in message.calls]
    return {
        "role": message.role,
        "text": message.text,
        "calls": calls,
        "callId": message.call_id,
        "name": message.name,
        "failed": message.failed,
        "at": message.at,
    }


def _args(text: str) -> Any:
    """What a model wrote as arguments; as it stands where that is no JSON."""
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return text
