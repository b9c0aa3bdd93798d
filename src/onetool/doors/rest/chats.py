"""Conversations under way: one question at a time in each session, told as it happens."""

import asyncio
import logging
from typing import Any

from onetool.conversation.answer import Answer, CallEnded, CallStarted, Event, TextPiece
from onetool.conversation.conversation import Conversation, Question
from onetool.conversation.opening import new_session, open_conversation
from onetool.domain.chat import ChatFailed
from onetool.domain.errors import SettingsError
from onetool.domain.json_text import encode, jsonable
from onetool.domain.transcript import BadSession
from onetool.runtime import Runtime

from .approvals import Approvals
from .problems import Failed
from .screen_shapes import ChatBody
from .streams import EventStream, Told, event

log = logging.getLogger(__name__)
HEARTBEAT_S = 10.0
"""Seconds of silence after which a reader is told that we are still here."""


class Chats:
    """Answers questions, each in a task that ends when its reader leaves."""

    def __init__(self, runtime: Runtime) -> None:
        self._runtime = runtime
        self.approvals = Approvals(lambda: new_session(runtime))
        self._running: dict[str, asyncio.Task[None]] = {}

    def is_busy(self, session: str) -> bool:
        """Whether a question is being answered in a session."""
        return session in self._running

    async def ask(self, body: ChatBody) -> EventStream:
        """Begin to answer; return what tells of it.

        Raises Failed where there is no such model or session, or where the session is busy.
        """
        await self._runtime.follow()
        session = body.session if body.session is not None else new_session(self._runtime)
        if self.is_busy(session):
            raise Failed(409, f"Session {session!r} is answering a question already. Wait for its end.")
        loop = asyncio.get_running_loop()
        talk, opened = _Talk(self._runtime, session, body, self.approvals), loop.create_future()
        running = self._running[session] = loop.create_task(self._go(talk, session, opened))
        running.add_done_callback(lambda done: self._release(session, done))
        try:
            await opened
        except (SettingsError, BadSession) as error:
            raise Failed(400, str(error)) from None
        except asyncio.CancelledError:
            running.cancel()
            raise
        return EventStream(talk.told, running, HEARTBEAT_S)

    async def _go(self, talk: "_Talk", session: str, opened: "asyncio.Future[None]") -> None:
        try:
            await talk.go(opened)
        finally:
            self._release(session, asyncio.current_task())  # whoever reads the end may ask again at once
            talk.end()

    def _release(self, session: str, running: "asyncio.Task[None] | None") -> None:
        if self._running.get(session) is running:
            del self._running[session]


class _Talk:
    """One question, from its opening to the last event."""

    def __init__(self, runtime: Runtime, session: str, body: ChatBody, approvals: Approvals) -> None:
        self.told: Told = asyncio.Queue()
        self._runtime, self._session, self._body = runtime, session, body
        self._answer: Answer | None = None
        self._question = Question(
            text=body.text,
            with_tools=body.withTools,
            allowed=None if body.toolAllow is None else frozenset(body.toolAllow),
            choice=body.tools,
            approve=approvals.asking(session, lambda shown: self._put("approval", self._masked(shown))),
            tell=self._tell,
        )

    async def go(self, opened: "asyncio.Future[None]") -> None:
        """Open the conversation, ask, tell; what kept it from being opened goes to `opened`."""
        body = self._body
        try:
            async with open_conversation(self._runtime, self._session, body.provider, body.model) as talk:
                opened.set_result(None)
                self._put("session", {"id": self._session})
                self._answer = await self._ask(talk)
        except Exception as error:  # noqa: BLE001 - the root of a background task
            if opened.done():
                log.error("a conversation could not be closed: %s: %s", type(error).__name__, error)
            else:
                opened.set_exception(error)

    def end(self) -> None:
        """Tell the whole answer, if there is one, and that this is the end."""
        if self._answer is not None:
            answer = self._answer.to_json()
            results = {"toolResults": answer.pop("toolResults")}
            self._put("done", self._masked(answer) | results)
        self.told.put_nowait(None)

    async def _ask(self, talk: Conversation) -> Answer:
        try:
            return await talk.ask(self._question)
        except (SettingsError, BadSession) as error:
            return talk.no_answer(ChatFailed("rejected", str(error)))
        except Exception as error:  # whatever it was, the reader is told that this is the end
            log.exception("a question could not be answered")
            message = f"Something went wrong here ({type(error).__name__}); the log says what."
            return talk.no_answer(ChatFailed("rejected", message))

    def _tell(self, happened: Event) -> None:
        if isinstance(happened, TextPiece):
            self._put("text", self._masked({"text": happened.text}))
        elif isinstance(happened, CallStarted):
            call = happened.call
            self._put("call", self._masked({"id": call.id, "name": call.name, "args": call.args}))
        elif isinstance(happened, CallEnded):
            self._put("result", {"id": happened.call.id} | happened.result.to_json())

    def _masked(self, data: dict[str, Any]) -> dict[str, Any]:
        """What a model wrote, without secrets; results come masked from the pipeline, and may be large."""
        masked: dict[str, Any] = self._runtime.masked(jsonable(data))
        return masked

    def _put(self, kind: str, data: dict[str, Any]) -> None:
        self.told.put_nowait(event(kind, encode(jsonable(data))))
