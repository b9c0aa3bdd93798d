"""When a provider is asked again, and when waiting ends."""

import asyncio
import logging
import random
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass

from onetool.domain.chat import ChatFailed, Reply

from .answer import Answer
from .endpoint import Endpoint
from .wire import Wire

log = logging.getLogger(__name__)

Attempt = Callable[[Answer], Awaitable[None]]

ATTEMPTS = 2
PASSING = frozenset({"rate_limited", "unreachable"})
LONGEST_WAIT = 20.0
"""Seconds; a provider that wants more is not waited for."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Pace:
    """How time passes before the second attempt; tests bring their own."""

    base: float = 0.5
    """Seconds at least, where the provider does not say."""
    sleep: Callable[[float], Awaitable[None]] = asyncio.sleep
    random: Callable[[], float] = random.random

    def gap(self, asked: float | None) -> float:
        """Seconds to wait: what was asked for, or a little time of our own."""
        return asked if asked is not None else self.base * (1 + self.random() / 2)


class Patience:
    """Asks one provider, again where that may help, and never beyond the deadline."""

    def __init__(self, endpoint: Endpoint, new_id: Callable[[], str], pace: Pace | None) -> None:
        self._endpoint, self._new_id, self._pace = endpoint, new_id, pace or Pace()

    async def ask(
        self, wire: Wire, on_text: Callable[[str], None], deadline: float, attempt: Attempt
    ) -> Reply:
        """Make an attempt, and a second one when the first failed in passing before anything came.

        Raises ChatFailed.
        """
        answers = [Answer(self._endpoint, wire, on_text, self._new_id) for _ in range(ATTEMPTS)]
        limit = asyncio.timeout_at(deadline)
        try:
            async with limit:
                return await self._ask(answers, deadline, attempt)
        except TimeoutError:
            if not limit.expired():
                raise
        raise self._endpoint.late()

    async def _ask(self, answers: Sequence[Answer], deadline: float, attempt: Attempt) -> Reply:
        first, *others = answers
        try:
            await attempt(first)
            return first.reply()
        except ChatFailed as failed:
            gap = self._pace.gap(failed.retry_after)
            is_late = gap > LONGEST_WAIT or asyncio.get_running_loop().time() + gap >= deadline
            if not others or first.begun or failed.kind not in PASSING or is_late:
                raise
            seen = {"provider": self._endpoint.name, "kind": failed.kind, "wait_s": gap}
            log.info("a chat model is asked again", extra=seen)
        await self._pace.sleep(gap)
        return await self._ask(others, deadline, attempt)
