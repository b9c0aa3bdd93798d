"""Conversations in progress, streamed as events. A session handles one question at a time, at one process."""

import asyncio
import logging
from base64 import b64decode
from typing import Any

from onetool.conversation.conversation import AskRequest, Conversation
from onetool.conversation.lifespan import new_session, open_conversation
from onetool.conversation.result import (
    AskResult,
    Event,
    TextDelta,
    ToolCallFinished,
    ToolCallStarted,
    result_json,
)
from onetool.conversation.session_approvals import SessionApprovals
from onetool.conversation.session_reservation import SessionTaken, reserved
from onetool.domain.calls.approval_request import call_digest
from onetool.domain.calls.caller import Caller
from onetool.domain.chat.attachments import Attachments, InvalidAttachment, read_attachments
from onetool.domain.chat.messages import ChatModelError
from onetool.domain.chat.transcript import InvalidSession
from onetool.domain.errors import SettingsError
from onetool.domain.identity.principal import current_principal
from onetool.domain.jobs.job import OpenQuestion
from onetool.domain.text.json_text import encode, jsonable
from onetool.runtime.runtime import Runtime

from .job_bodies import ASKER, question_event
from .problems import ProblemError, internal_error_message
from .schemas.chat import ChatBody
from .sse import EventQueue, EventStream, format_event

log = logging.getLogger(__name__)
CHAT = "chat"
"""The name of the jobs of chats, in place of a tool."""
STOPPED = "The question was stopped, because this server could not keep the session reserved. Ask again."


Place = tuple[str, str]
"""A principal and a session."""


class ActiveChats:
    """Runs each question in a task that is cancelled when its client disconnects."""

    def __init__(self, runtime: Runtime) -> None:
        self._runtime = runtime
        self.approvals = SessionApprovals(runtime.session_approvals, runtime.threads)
        self._running: dict[Place, asyncio.Task[None]] = {}

    async def is_busy(self, session: str) -> bool:
        """Return whether a question is in progress in a session, at any process."""
        return _place(session) in self._running or await self._runtime.session_leases.is_taken(session)

    async def ask(self, body: ChatBody) -> EventStream:
        """Start a question and return its event stream.

        Raises:
            ProblemError: The model or the session is invalid, or the session is busy.
        """
        await self._runtime.reload_if_changed()
        attachments = await self._runtime.threads.run(_read_attachments, body)
        session = body.session if body.session is not None else new_session(self._runtime)
        place = _place(session)
        if place in self._running:
            raise session_busy(session)
        loop = asyncio.get_running_loop()
        run, opened = (
            _ChatRun(self._runtime, session, body, attachments, self.approvals),
            loop.create_future(),
        )
        task = self._running[place] = loop.create_task(self._run(run, session, opened))
        task.add_done_callback(lambda done: self._release(place, done))
        try:
            await opened
        except SessionTaken:
            raise session_busy(session) from None
        except (SettingsError, InvalidSession) as error:
            raise ProblemError(400, str(error)) from None
        except asyncio.CancelledError:
            task.cancel()
            raise
        return EventStream(run.events, task)

    async def _run(self, run: "_ChatRun", session: str, opened: "asyncio.Future[None]") -> None:
        try:
            async with reserved(self._runtime.session_leases, session, run.stop):
                await run.run(opened)
        except Exception as error:  # noqa: BLE001 - the root of a background task
            if opened.done():
                log.error("a question failed: %s: %s", type(error).__name__, error)
            else:
                opened.set_exception(error)
        finally:
            # First, because a client may ask again as soon as it reads the end.
            self._release(_place(session), asyncio.current_task())
            run.finish()

    def _release(self, place: Place, task: "asyncio.Task[None] | None") -> None:
        if self._running.get(place) is task:
            del self._running[place]


def session_busy(session: str) -> ProblemError:
    """Return the problem of a session in which a question is in progress."""
    return ProblemError(409, f"Session {session!r} is busy. Wait until the current question is finished.")


def _read_attachments(body: ChatBody) -> Attachments:
    files = list[tuple[str, bytes]]()
    for file in body.attachments:
        try:
            files.append((file.name, b64decode(file.data, validate=True)))
        except ValueError:
            raise ProblemError(400, f"The data of file {file.name!r} is not valid base64.") from None
    try:
        return read_attachments(files)
    except InvalidAttachment as error:
        raise ProblemError(400, str(error)) from None


def _place(session: str) -> Place:
    return current_principal().id, session


class _ChatRun:
    """One question, from the start to the last event."""

    def __init__(
        self,
        runtime: Runtime,
        session: str,
        body: ChatBody,
        attachments: Attachments,
        approvals: SessionApprovals,
    ) -> None:
        self.events: EventQueue = asyncio.Queue()
        self._runtime, self._session, self._body, self._approvals = runtime, session, body, approvals
        self._attachments = attachments
        self._result: AskResult | None = None
        self._is_stopped = False
        self._asking: asyncio.Task[AskResult] | None = None

    def stop(self) -> None:
        """End the question, because another process may continue the session. Nothing more is stored."""
        self._is_stopped = True
        if self._asking is not None:
            self._asking.cancel()

    async def run(self, opened: "asyncio.Future[None]") -> None:
        """Open the conversation and ask. An error while opening is set on `opened`."""
        body = self._body
        try:
            async with open_conversation(self._runtime, self._session, body.provider, body.model) as chat:
                chat.check_attachments(self._attachments)
                opened.set_result(None)
                self._send("session", {"id": self._session})
                self._result = await self._ask_until_stopped(chat)
        except Exception as error:  # noqa: BLE001 - the root of a background task
            if opened.done():
                log.error("closing a conversation failed: %s: %s", type(error).__name__, error)
            else:
                opened.set_exception(error)

    def finish(self) -> None:
        """Send the complete result, if there is one, and end the stream."""
        if self._result is not None:
            result = self._result.to_json()
            tool_results = {"toolResults": result.pop("toolResults")}
            self._send("done", self._mask(result) | tool_results)
        self.events.put_nowait(None)

    async def _ask_until_stopped(self, chat: Conversation) -> AskResult:
        self._asking = asyncio.create_task(self._ask(chat))
        if self._is_stopped:
            self._asking.cancel()
        try:
            return await self._asking
        except asyncio.CancelledError:
            if not self._is_stopped or (task := asyncio.current_task()) is None or task.cancelling():
                raise
            return chat.failed_result(ChatModelError("rejected", STOPPED))

    async def _ask(self, chat: Conversation) -> AskResult:
        asker = ASKER.with_roots(self._runtime.state.configuration.shown_roots)
        caller = Caller(interface="ask", session=self._session, asker=asker)
        digest = call_digest(CHAT, {"session": self._session, "text": self._body.text})
        try:
            async with self._runtime.jobs.track(caller, CHAT, digest, self._present) as tracked:
                return await chat.ask(self._request(tracked))
        except (SettingsError, InvalidSession) as error:
            return chat.failed_result(ChatModelError("rejected", str(error)))
        except Exception as error:  # the stream must end with a result
            log.exception("question failed")
            return chat.failed_result(ChatModelError("rejected", internal_error_message(error)))

    def _request(self, caller: Caller) -> AskRequest:
        body = self._body
        return AskRequest(
            text=body.text,
            attachments=self._attachments,
            with_tools=body.withTools,
            allowed=None if body.toolAllow is None else frozenset(body.toolAllow),
            choice=body.tools,
            approve=self._approvals.handler(self._session, caller.asker.ask),
            asker=caller.asker,
            on_step=caller.on_step,
            on_event=self._on_event,
        )

    def _on_event(self, event: Event) -> None:
        if isinstance(event, TextDelta):
            self._send("text", {"text": event.text})
        elif isinstance(event, ToolCallStarted):
            call = event.call
            self._send("call", self._mask({"id": call.id, "name": call.name, "args": call.args}))
        elif isinstance(event, ToolCallFinished):
            self._send("result", {"id": event.call.id} | result_json(event.result))

    async def _present(self, job: str, question: OpenQuestion) -> None:
        """Show a question. The answer is given to the job."""
        self._send("question", question_event(self._runtime, job, question))

    def _mask(self, data: dict[str, Any]) -> dict[str, Any]:
        """Mask secrets in arguments and errors. Results, which can be large, and texts are masked already."""
        masked: dict[str, Any] = self._runtime.state.redactor.mask(jsonable(data))
        return masked

    def _send(self, kind: str, data: dict[str, Any]) -> None:
        self.events.put_nowait(format_event(kind, encode(jsonable(data))))
