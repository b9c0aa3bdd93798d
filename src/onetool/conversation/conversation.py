"""The ask loop: ask a model, run the tools that it calls, and repeat until it answers."""

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from onetool.domain.calls.caller import ApprovalHandler, Caller, never_approve
from onetool.domain.chat.messages import (
    ChatModelError,
    Message,
    ModelResponse,
    Stop,
    TokenCount,
    ToolDefinition,
)
from onetool.domain.chat.transcript import Record, Transcript, check_session_name, message_record, replay
from onetool.domain.secrets.streams import StreamRedactor
from onetool.ports import ChatModel
from onetool.runtime.runtime import Runtime
from onetool.settings.schema import ProviderSettings

from .result import AskResult, EventHandler, TextDelta
from .system_prompt import system_text
from .tool_calls import CompletedCall, ToolCallRunner
from .toolset import AllToolset, Choice, Toolset, select_toolset

MAX_TOOL_TURNS = 8
"""Maximum number of turns with tools. In the next turn the model gets no tools and must answer."""
NO_ANSWER: Mapping[Stop, str] = {
    "end": "The model gave no answer.",
    "length": "The model reached its output limit before it gave an answer.",
    "refused": "The model refused to answer.",
    "calls": "The model requested more tools instead of giving an answer.",
}


def ignore_event(event: Any) -> None:
    """Ignore an event."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AskRequest:
    """A question, and the tools that the model may use."""

    text: str
    with_tools: bool = True
    allowed: frozenset[str] | None = None
    """Names of the allowed tools. None: the list stored in the session, or all tools."""
    choice: Choice = "auto"
    approve: ApprovalHandler = never_approve
    on_event: EventHandler = ignore_event


class Conversation:
    """One session with one model."""

    def __init__(
        self,
        runtime: Runtime,
        model: ChatModel,
        session: str,
        *,
        now: Callable[[], float] = time.time,
    ) -> None:
        self._runtime, self._model, self._session = runtime, model, check_session_name(session)
        self._now = now

    async def ask(self, request: AskRequest) -> AskResult:
        """Answer a question. Every message and call is stored before the next step, even if a step fails.

        Raises:
            InvalidSession: The session cannot be used.
            OSError: The session cannot be written.
        """
        transcript = await self._read()
        allowed = transcript.allowed if request.allowed is None else request.allowed
        if not request.with_tools:
            allowed = frozenset()  # a model may call a tool that it was not given
        caller = Caller(interface="ask", session=self._session, allowed=allowed, approve=request.approve)
        toolset = await self._toolset(request, caller)
        result, runner = self._new_result(), ToolCallRunner(self._runtime, toolset, caller, request.on_event)
        loop = _AskLoop(self, transcript, toolset, runner, result)
        await loop.start(request)
        try:
            await loop.run(request.on_event)
        except ChatModelError as error:
            result.failure = error
        return result

    def failed_result(self, failure: ChatModelError) -> AskResult:
        """Return a result without an answer."""
        result = self._new_result()
        result.failure = failure
        return result

    async def _toolset(self, request: AskRequest, caller: Caller) -> Toolset:
        if not request.with_tools:
            return AllToolset(self._runtime, ())
        return await select_toolset(self._runtime, caller, request.choice)

    async def _read(self) -> Transcript:
        records = await self._runtime.sessions.read(self._session)
        return await self._runtime.threads.run(replay, records)

    @property
    def _provider(self) -> ProviderSettings:
        return (
            self._runtime.state.configuration.settings.providers.get(self._model.name) or ProviderSettings()
        )

    def _new_result(self) -> AskResult:
        provider, prices = self._provider, None
        if provider.input_price is not None and provider.output_price is not None:
            prices = (provider.input_price, provider.output_price)
        return AskResult(
            session=self._session, provider=self._model.name, model=self._model.model, prices=prices
        )

    def new_id(self) -> str:
        """Return a new id for a question."""
        return self._runtime.new_id()

    async def append_records(self, records: Sequence[Record]) -> None:
        """Append records to the session. Durable on return."""
        await self._runtime.sessions.append(self._session, records)

    def record(self, message: Message, ask: str, **more: Any) -> Record:
        """Return a record of a message, with the current time."""
        return message_record(message, ask, self._now(), **more)

    def system(self, tools: Sequence[ToolDefinition]) -> Message:
        """Return the system message."""
        return Message(role="system", text=system_text(self._runtime.state.configuration.prompts, tools))

    async def reply(
        self, messages: Sequence[Message], tools: Sequence[ToolDefinition], on_event: EventHandler
    ) -> ModelResponse:
        """Return the next turn of the model, with secrets masked in its text.

        The text is also sent to `on_event` as it arrives, except for an end that could begin a secret.
        """
        redactor = self._runtime.state.redactor
        stream = StreamRedactor(redactor)

        def send(text: str) -> None:
            if text:
                on_event(TextDelta(text))

        try:
            response = await self._model.reply(
                messages,
                tools,
                on_text=lambda delta: send(stream.feed(delta)),
                deadline=time.monotonic() + self._provider.timeout_s,
            )
        finally:
            send(stream.flush())
        return replace(response, text=redactor.redact(response.text))


class _AskLoop:
    """The turns of one question."""

    def __init__(
        self,
        conversation: Conversation,
        transcript: Transcript,
        toolset: Toolset,
        runner: ToolCallRunner,
        result: AskResult,
    ) -> None:
        self._conversation, self._transcript, self._result = conversation, transcript, result
        self._tools, self._runner = list(toolset.definitions), runner
        self._messages = [conversation.system(self._tools), *transcript.messages]
        self._id = conversation.new_id()

    async def start(self, request: AskRequest) -> None:
        """Store the question, and the list of allowed tools if it has changed."""
        message = Message(role="user", text=request.text)
        records: list[Record] = []
        if request.allowed is not None and request.allowed != self._transcript.allowed:
            # First, so that a crash cannot lose the restriction.
            records.append({"type": "allowed", "tools": sorted(request.allowed)})
        records.append(self._conversation.record(message, self._id))
        self._messages.append(message)
        await self._conversation.append_records(records)

    async def run(self, on_event: EventHandler) -> None:
        """Run turns until the model answers.

        Raises:
            ChatModelError: The model gave no usable response.
        """
        for turns_left in range(MAX_TOOL_TURNS, -1, -1):
            tools = self._tools if turns_left else []
            response = await self._conversation.reply(self._messages, tools, on_event)
            if not tools:
                response = replace(response, calls=())
            await self._add_response(response)
            if not response.calls:
                self._result.text, self._result.stop = response.text, response.stop
                if not response.text.strip():
                    raise ChatModelError("empty", NO_ANSWER[response.stop])
                return
            async for completed in self._runner.run(response.calls, self._transcript.cached_results):
                await self._add_call(completed)

    async def _add_response(self, response: ModelResponse) -> None:
        message = response.message()
        tokens = response.tokens or self._estimate(response)
        self._result.tokens = self._result.tokens.plus(tokens)
        self._messages.append(message)
        counts = {"input": tokens.input, "output": tokens.output}
        await self._append(message, tokens=counts)

    async def _add_call(self, completed: CompletedCall) -> None:
        self._result.calls.append(completed.call)
        self._result.results.append(completed.result)
        self._messages.append(completed.message)
        cached = {"key": completed.key, "data": completed.result.data} if completed.key else {}
        await self._append(completed.message, **cached)

    async def _append(self, message: Message, **fields: Any) -> None:
        record = self._conversation.record(message, self._id, **fields)
        await self._conversation.append_records([record])

    def _estimate(self, response: ModelResponse) -> TokenCount:
        self._result.is_estimated = True
        input_size = sum(map(_size, self._messages))
        return TokenCount(input=input_size // 4, output=_size(response.message()) // 4)


def _size(message: Message) -> int:
    return len(message.text) + sum(len(call.arguments_text) for call in message.calls)
