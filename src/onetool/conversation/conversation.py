"""A model that uses the tools: asked, given what it calls for, asked again, until it answers."""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from onetool.domain.caller import Approve, Caller, refuse
from onetool.domain.chat import ChatFailed, Message, Offer, Reply, TokenCount
from onetool.domain.transcript import Record, Transcript, add_up, check_name, said
from onetool.ports import ChatModel
from onetool.runtime import Runtime
from onetool.settings.schema import Provider

from .answer import Answer, Tell, TextPiece
from .calls import Calls, Done
from .offering import AllTools, Choice, Offering, offer_tools
from .prompt import system_text

ROUNDS = 8
"""Turns with tools; the one after them must be an answer."""
NOTHING_SAID = "(The model gave no answer.)"


def ignore(event: Any) -> None:
    """Take no notice of what happens."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """What somebody wants to know, and what the model may use."""

    text: str
    with_tools: bool = True
    allowed: frozenset[str] | None = None
    """Names of the tools it may use; None: those that the session remembers, or all."""
    choice: Choice = "auto"
    approve: Approve = refuse
    tell: Tell = ignore


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
        self._runtime, self._model, self._session = runtime, model, check_name(session)
        self._now, self._in_thread = now, runtime.threads.run

    async def ask(self, question: Question) -> Answer:
        """Answer a question; whatever goes wrong, what was said and done is kept.

        Raises BadSession where there cannot be one of this name, and OSError where it cannot be kept.
        """
        transcript = await self._in_thread(self._read)
        allowed = transcript.allowed if question.allowed is None else question.allowed
        if not question.with_tools:
            allowed = frozenset()  # a model may name a tool that it was not offered
        caller = Caller(door="ask", session=self._session, allowed=allowed, approve=question.approve)
        offering = await self._offering(question, caller)
        answer, calls = self._new_answer(), Calls(self._runtime, offering, caller, question.tell)
        asking = _Asking(self, transcript, offering, calls, answer)
        await asking.begin(question)
        try:
            await asking.go_on(question.tell)
        except ChatFailed as error:
            answer.failure = error
        return answer

    def no_answer(self, failure: ChatFailed) -> Answer:
        """An answer that says only why there is none."""
        answer = self._new_answer()
        answer.failure = failure
        return answer

    async def _offering(self, question: Question, caller: Caller) -> Offering:
        if not question.with_tools:
            return AllTools(self._runtime, ())
        return await offer_tools(self._runtime, caller, question.choice)

    def _read(self) -> Transcript:
        return add_up(self._runtime.sessions.read(self._session))

    @property
    def _provider(self) -> Provider:
        return self._runtime.configuration.settings.providers.get(self._model.name) or Provider()

    def _new_answer(self) -> Answer:
        provider, prices = self._provider, None
        if provider.price_in is not None and provider.price_out is not None:
            prices = (provider.price_in, provider.price_out)
        return Answer(
            session=self._session, provider=self._model.name, model=self._model.model, prices=prices
        )

    def new_id(self) -> str:
        """A name for one question."""
        return self._runtime.new_id()

    async def keep(self, records: Sequence[Record]) -> None:
        """Add to the session; on return it is on the disk."""
        await self._in_thread(self._runtime.sessions.append, self._session, records)

    def record(self, message: Message, ask: str, **more: Any) -> Record:
        """A record of what was said just now."""
        return said(message, ask, self._now(), **more)

    def system(self, offers: Sequence[Offer]) -> Message:
        """What a model is told before anything else."""
        return Message(role="system", text=system_text(self._runtime.configuration.prompts, offers))

    async def reply(self, messages: Sequence[Message], offers: Sequence[Offer], tell: Tell) -> Reply:
        """Let the model speak."""
        return await self._model.reply(
            messages,
            offers,
            on_text=lambda piece: tell(TextPiece(piece)),
            deadline=time.monotonic() + self._provider.timeout_s,
        )


class _Asking:
    """One question on its way to an answer."""

    def __init__(
        self, talk: Conversation, transcript: Transcript, offering: Offering, calls: Calls, answer: Answer
    ) -> None:
        self._talk, self._transcript, self._answer = talk, transcript, answer
        self._offers, self._calls = list(offering.offers), calls
        self._messages = [talk.system(self._offers), *transcript.messages]
        self._ask = talk.new_id()

    async def begin(self, question: Question) -> None:
        """Keep the question, and the list of tools if a new one was given."""
        message = Message(role="user", text=question.text)
        records: list[Record] = []
        if question.allowed is not None and question.allowed != self._transcript.allowed:
            records.append(
                {"type": "allowed", "tools": sorted(question.allowed)}
            )  # first: it must not get lost
        records.append(self._talk.record(message, self._ask))
        self._messages.append(message)
        await self._talk.keep(records)

    async def go_on(self, tell: Tell) -> None:
        """Turn by turn, to the answer.

        Raises ChatFailed.
        """
        for left in range(ROUNDS, -1, -1):
            offers = self._offers if left else []
            reply = await self._talk.reply(self._messages, offers, tell)
            if not offers:
                reply = replace(reply, calls=())
            await self._take(reply)
            if not reply.calls:
                self._answer.text, self._answer.stop = reply.text or NOTHING_SAID, reply.stop
                return
            async for done in self._calls.make(reply.calls, self._transcript.kept):
                await self._add(done)

    async def _take(self, reply: Reply) -> None:
        message = reply.message()
        tokens = reply.tokens or self._estimate(reply)
        self._answer.tokens = self._answer.tokens.plus(tokens)
        self._messages.append(message)
        counted = {"input": tokens.input, "output": tokens.output}
        await self._talk.keep([self._talk.record(message, self._ask, tokens=counted)])

    async def _add(self, done: Done) -> None:
        self._answer.calls.append(done.call)
        self._answer.results.append(done.result)
        self._messages.append(done.message)
        kept = {"key": done.key, "data": done.result.data} if done.key else {}
        await self._talk.keep([self._talk.record(done.message, self._ask, **kept)])

    def _estimate(self, reply: Reply) -> TokenCount:
        self._answer.is_estimated = True
        read = sum(map(_size, self._messages))
        return TokenCount(input=read // 4, output=_size(reply.message()) // 4)


def _size(message: Message) -> int:
    return len(message.text) + sum(len(call.arguments_text) for call in message.calls)
