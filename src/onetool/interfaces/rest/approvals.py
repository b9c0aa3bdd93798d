"""Approvals that wait for a decision of the user in the web UI."""

import asyncio
from collections.abc import Callable, Mapping
from typing import Any, Literal

from onetool.domain.calls.caller import ApprovalHandler

Decision = Literal["approve", "deny", "always"]
TIMEOUT_S = 300.0
"""Seconds until a call without a decision is denied."""
MAX_SESSIONS = 1_000
"""Sessions whose `always` decisions are stored; the oldest session is discarded first."""


class PendingApprovals:
    """Pending questions, and the tools that are always approved in a session."""

    def __init__(self, new_id: Callable[[], str], timeout_s: float = TIMEOUT_S) -> None:
        self._new_id, self._timeout_s = new_id, timeout_s
        self._pending: dict[str, asyncio.Future[Decision]] = {}
        self._always_approved: dict[str, set[str]] = {}

    def handler(self, session: str, show: Callable[[dict[str, Any]], None]) -> ApprovalHandler:
        """Return the approval handler of a session. `show` sends the question to the client."""

        async def ask(tool: str, args: Mapping[str, Any]) -> bool:
            if tool in self._always_approved.get(session, ()):
                return True
            decision = await self._decision(lambda id_: show({"id": id_, "tool": tool, "args": dict(args)}))
            if decision == "always":
                self._approve_always(session, tool)
            return decision != "deny"

        return ask

    def decide(self, question: str, decision: Decision) -> bool:
        """Decide a question and return whether it was pending."""
        future = self._pending.pop(question, None)
        if future is None or future.done():
            return False
        future.set_result(decision)
        return True

    def discard(self, session: str) -> None:
        """Discard the `always` decisions of a session."""
        self._always_approved.pop(session, None)

    async def _decision(self, show: Callable[[str], None]) -> Decision:
        question = self._new_id()
        future: asyncio.Future[Decision] = asyncio.get_running_loop().create_future()
        self._pending[question] = future
        try:
            show(question)
            async with asyncio.timeout(self._timeout_s):
                return await future
        except TimeoutError:
            return "deny"
        finally:
            self._pending.pop(question, None)

    def _approve_always(self, session: str, tool: str) -> None:
        self._always_approved.setdefault(session, set()).add(tool)
        if len(self._always_approved) > MAX_SESSIONS:
            del self._always_approved[next(iter(self._always_approved))]
