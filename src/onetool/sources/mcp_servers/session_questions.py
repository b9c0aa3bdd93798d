"""To which call a question of a server belongs. The protocol before 2026-07-28 does not say it."""

import asyncio
import logging
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager, nullcontext
from typing import Any

from .questions import ELICITATION, CallQuestions, QuestionRefused

log = logging.getLogger(__name__)
UNCLEAR = "The server asked a question while several calls were in progress. It was cancelled."


class SessionQuestions:
    """Gives each question of a session to the one call in progress.

    Calls run in parallel until the server asks for the first time, and one after the other from then on.
    """

    def __init__(self) -> None:
        self.has_asked = False
        self.has_calls = False
        """Whether a tool was called."""
        self._running: list[CallQuestions] = []
        self._turn = asyncio.Lock()
        self._is_idle = asyncio.Event()
        self._is_idle.set()

    @asynccontextmanager
    async def call(self, questions: CallQuestions) -> AsyncIterator[None]:
        """Let the server ask for the block. Wait for the calls before it, if the server asks questions."""
        self.has_calls = True
        async with self._turn if self.has_asked else nullcontext():
            if self.has_asked:
                await self._is_idle.wait()  # calls that began before the first question
            self._running.append(questions)
            self._is_idle.clear()
            try:
                yield
            finally:
                self._running.remove(questions)
                questions.ended.set()
                if not self._running:
                    self._is_idle.set()

    async def answer(self, method: str, params: Mapping[str, Any]) -> dict[str, Any]:
        """Answer a request of the server.

        Raises:
            QuestionRefused: It cannot be answered.
        """
        self.has_asked = True
        if len(self._running) != 1:
            log.warning(UNCLEAR)
            for questions in self._running:
                questions.note = UNCLEAR
            if method == ELICITATION:
                return {"action": "cancel"}
            raise QuestionRefused(UNCLEAR)
        return await self._running[0].answer(method, params)
