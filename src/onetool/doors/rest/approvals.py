"""Tools that change things, and whoever sits at the screen: each question is answered once, or is a no."""

import asyncio
from collections.abc import Callable, Mapping
from typing import Any, Literal

from onetool.domain.caller import Approve

Decision = Literal["run", "discard", "always"]
PATIENCE = 300.0
"""Seconds after which no answer is a refusal."""
SESSIONS = 1_000
"""How many sessions are remembered in which something always runs; a forgotten one asks again."""


class Approvals:
    """Questions that wait for a person, and tools that need not ask any more."""

    def __init__(self, new_id: Callable[[], str], patience: float = PATIENCE) -> None:
        self._new_id, self._patience = new_id, patience
        self._waiting: dict[str, asyncio.Future[Decision]] = {}
        self._always: dict[str, set[str]] = {}

    def asking(self, session: str, show: Callable[[dict[str, Any]], None]) -> Approve:
        """Return how to ask in a session; `show` puts the question on the screen."""

        async def ask(tool: str, args: Mapping[str, Any]) -> bool:
            if tool in self._always.get(session, ()):
                return True
            decision = await self._decision(lambda name: show({"id": name, "tool": tool, "args": dict(args)}))
            if decision == "always":
                self._remember(session, tool)
            return decision != "discard"

        return ask

    def decide(self, question: str, decision: Decision) -> bool:
        """Answer a question; return whether it was waiting."""
        waiting = self._waiting.pop(question, None)
        if waiting is None or waiting.done():
            return False
        waiting.set_result(decision)
        return True

    def forget(self, session: str) -> None:
        """Ask again in a session."""
        self._always.pop(session, None)

    async def _decision(self, show: Callable[[str], None]) -> Decision:
        question = self._new_id()
        waiting: asyncio.Future[Decision] = asyncio.get_running_loop().create_future()
        self._waiting[question] = waiting
        try:
            show(question)
            async with asyncio.timeout(self._patience):
                return await waiting
        except TimeoutError:
            return "discard"
        finally:
            self._waiting.pop(question, None)

    def _remember(self, session: str, tool: str) -> None:
        self._always.setdefault(session, set()).add(tool)
        if len(self._always) > SESSIONS:
            del self._always[next(iter(self._always))]
