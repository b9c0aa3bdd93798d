"""The ask loop: ask a model, run the tools that it calls, and repeat until it answers."""

import logging
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from onetool.domain.calls.caller import ApprovalHandler, Caller, StepHandler, never_approve
from onetool.domain.calls.effect import Effect
from onetool.domain.calls.question import NO_ASKER, Asker
from onetool.domain.chat.attachments import NO_ATTACHMENTS, Attachments
from onetool.domain.chat.messages import (
    ChatModelError,
    Message,
    ModelResponse,
    Stop,
    TokenCount,
    ToolDefinition,
)
from onetool.domain.chat.transcript import Record, Transcript, check_session_name, message_record, replay
from onetool.domain.content.reference import MediaReference
from onetool.domain.errors import SettingsError
from onetool.domain.identity.principal import current_principal
from onetool.domain.secrets.streams import StreamRedactor
from onetool.ports import ChatModel
from onetool.runtime.runtime import Runtime
from onetool.settings.schema import ProviderSettings
from onetool.telemetry import names
from onetool.telemetry.spans import start_span

from .images import ImageLoader
from .result import AskResult, Event, EventHandler, TextDelta
from .sampling import with_sampling
from .system_prompt import system_text
from .tool_calls import CompletedCall, ToolCallRunner
from .toolset import AllToolset, Choice, Toolset, select_toolset

MAX_TOOL_TURNS = 8
"""Maximum number of turns with tools. In the next turn the model gets no tools and must answer."""
log = logging.getLogger(__name__)
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
    attachments: Attachments = NO_ATTACHMENTS
    with_tools: bool = True
    allowed: frozenset[str] | None = None
    """Names of the allowed tools. None: the list stored in the session, or all tools."""
    choice: Choice = "auto"
    toolset: Toolset | None = None
    """The tools of the model instead of those of the runtime, which `choice` selects from."""
    max_tool_turns: int = MAX_TOOL_TURNS
    default_effect: Effect = Effect.ASK
    """What happens to tools that are not read-only, unless the settings say something else about them."""
    approve: ApprovalHandler = never_approve
    asker: Asker = NO_ASKER
    """Asks what servers want to know during a call."""
    on_step: StepHandler | None = None
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
        with start_span(names.INVOKE_AGENT) as span:
            result = await self._ask(request)
            attributes = {names.AGENT_NAME: names.AGENT, names.CONVERSATION_ID: self._session}
            span.describe(names.AGENT, attributes, result.failure.kind if result.failure else None)
        return result

    async def _ask(self, request: AskRequest) -> AskResult:
        transcript = await self._read()
        allowed = transcript.allowed if request.allowed is None else request.allowed
        if not request.with_tools:
            allowed = frozenset()  # a model may call a tool that it was not given
        result = self._new_result()
        caller = Caller(
            interface="ask",
            session=self._session,
            allowed=allowed,
            default_effect=request.default_effect,
            approve=request.approve,
            asker=with_sampling(request.asker, self._model.model, partial(self._sample, result)),
            on_step=request.on_step,
        )
        toolset = await self._toolset(request, caller)
        runner = ToolCallRunner(self._runtime, toolset, caller, request.on_event)
        loop = _AskLoop(self, transcript, toolset, runner, result)
        await loop.start(request)
        try:
            await loop.run(request)
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
        if request.toolset is not None:
            return request.toolset
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

    def check_attachments(self, attachments: Attachments) -> None:
        """Check that the model accepts the attached images.

        Raises:
            SettingsError: It does not.
        """
        for image in attachments.images:
            if image.mime_type not in self._model.image_types:
                accepted = ", ".join(sorted(self._model.image_types))
                model = f"Model {self._model.model!r} of provider {self._model.name!r}"
                raise SettingsError(
                    f"{model} takes no images of type {image.mime_type!r}. It takes {accepted}."
                    if accepted
                    else f"{model} takes no images. Choose another model, or set "
                    f"providers.{self._model.name}.images to true if it can read them."
                )

    async def store(self, attachments: Attachments) -> None:
        """Store the attached images, so that the user and later questions can see them."""
        await self._runtime.state.model_output.store_media(attachments.images, "chat", current_principal())

    def image_loader(self) -> ImageLoader:
        """Return a loader of the images that the model accepts."""
        results, threads = self._runtime.state.results, self._runtime.threads
        reader = current_principal().scope
        return ImageLoader(results, threads, self._model.image_types, reader=reader)

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
        attributes: dict[str, str | int] = {names.PROVIDER: self._model.name, names.MODEL: self._model.model}
        with start_span(names.CHAT) as span:
            try:
                response = await self._reply(messages, tools, on_event)
            except ChatModelError as error:
                span.describe(self._model.model, attributes, error.kind)
                raise
            if response.tokens is not None:
                used = {
                    names.INPUT_TOKENS: response.tokens.input,
                    names.OUTPUT_TOKENS: response.tokens.output,
                }
                attributes |= used
            span.describe(self._model.model, attributes)
        return response

    async def _reply(
        self, messages: Sequence[Message], tools: Sequence[ToolDefinition], on_event: EventHandler
    ) -> ModelResponse:
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

    async def _sample(self, result: AskResult, messages: Sequence[Message]) -> ModelResponse:
        """Return the response of the model to messages of a server, and count its tokens."""
        response = await self.reply(messages, (), ignore_event)
        _add_tokens(result, messages, response)
        return response


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
        self._images = conversation.image_loader()
        self._has_attached_images = False
        self._id = conversation.new_id()

    async def start(self, request: AskRequest) -> None:
        """Store the question, and the list of allowed tools if it has changed."""
        attachments = request.attachments
        self._conversation.check_attachments(attachments)
        await self._conversation.store(attachments)
        self._images.add(attachments.images)
        self._has_attached_images = bool(attachments.images)
        message = Message(
            role="user",
            text=attachments.add_to(request.text),
            user_text=attachments.user_text(request.text),
            media=tuple(map(MediaReference.of, attachments.images)),
        )
        records: list[Record] = []
        if request.allowed is not None and request.allowed != self._transcript.allowed:
            # First, so that a crash cannot lose the restriction.
            records.append({"type": "allowed", "tools": sorted(request.allowed)})
        records.append(self._conversation.record(message, self._id))
        self._messages.append(message)
        await self._conversation.append_records(records)

    async def run(self, request: AskRequest) -> None:
        """Run turns until the model answers.

        Raises:
            ChatModelError: The model gave no usable response.
        """
        for turns_left in range(request.max_tool_turns, -1, -1):
            tools = self._tools if turns_left else []
            response = await self._reply(tools, request.on_event)
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

    async def _reply(self, tools: Sequence[ToolDefinition], on_event: EventHandler) -> ModelResponse:
        """Return the next turn of the model.

        If it rejects a request with images of tools, or of earlier questions, ask again without them.
        """
        messages, shown = await self._images.attach(self._messages), list[Event]()

        def record(event: Event) -> None:
            shown.append(event)
            on_event(event)

        try:
            return await self._conversation.reply(messages, tools, record)
        except ChatModelError as error:
            has_images = any(message.images for message in messages)
            if error.kind != "rejected" or shown or not has_images or self._has_attached_images:
                raise
            log.warning("request with images rejected, repeated without them: %s", error)
            self._images.send_none()
            return await self._conversation.reply(self._messages, tools, on_event)

    async def _add_response(self, response: ModelResponse) -> None:
        message = response.message()
        tokens = _add_tokens(self._result, self._messages, response)
        self._messages.append(message)
        counts = {"input": tokens.input, "output": tokens.output}
        await self._append(message, tokens=counts)

    async def _add_call(self, completed: CompletedCall) -> None:
        self._result.calls.append(completed.call)
        self._result.results.append(completed.result)
        self._messages.append(completed.message)
        self._images.add(completed.media)
        cached = {"key": completed.key, "data": completed.result.data} if completed.key else {}
        await self._append(completed.message, **cached)

    async def _append(self, message: Message, **fields: Any) -> None:
        record = self._conversation.record(message, self._id, **fields)
        await self._conversation.append_records([record])


def _add_tokens(result: AskResult, messages: Sequence[Message], response: ModelResponse) -> TokenCount:
    """Add the tokens of a response, estimated if the provider did not report them. Return them."""
    tokens = response.tokens
    if tokens is None:
        result.is_estimated = True
        input_size = sum(map(_size, messages))
        tokens = TokenCount(input=input_size // 4, output=_size(response.message()) // 4)
    result.tokens = result.tokens.plus(tokens)
    return tokens


def _size(message: Message) -> int:
    return len(message.text) + sum(len(call.arguments_text) for call in message.calls)
