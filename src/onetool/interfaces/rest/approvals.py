"""Approvals that wait for a decision of the user in the web UI."""

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import asdict
from typing import Any, Literal

from onetool.domain.calls.approval_request import ApprovalRequest, ShownArgument
from onetool.domain.calls.caller import ApprovalHandler

Decision = Literal["approve", "deny", "always"]
ShowQuestion = Callable[[str, ApprovalRequest], None]
"""Sends a question to the client: its id and the request."""
MAX_SESSIONS = 1_000
"""Sessions whose `always` decisions are stored; the oldest session is discarded first."""


class PendingApprovals:
    """Pending questions, and the tools that are always approved in a session."""

    def __init__(self, new_id: Callable[[], str]) -> None:
        self._new_id = new_id
        self._pending: dict[str, tuple[ApprovalRequest, asyncio.Future[Decision]]] = {}
        self._always_approved: dict[str, set[str]] = {}

    def handler(self, session: str, show: ShowQuestion) -> ApprovalHandler:
        """Return the approval handler of a session."""

        async def ask(request: ApprovalRequest) -> bool:
            if request.tool in self._always_approved.get(session, ()):
                return True
            decision = await self._decision(request, show)
            if decision == "always":
                self._approve_always(session, request.tool)
            return decision != "deny"

        return ask

    def request(self, question: str) -> ApprovalRequest | None:
        """Return the request of a pending question."""
        request, _ = self._pending.get(question, (None, None))
        return request

    def decide(self, question: str, decision: Decision) -> bool:
        """Decide a question and return whether it was pending."""
        _, future = self._pending.pop(question, (None, None))
        if future is None or future.done():
            return False
        future.set_result(decision)
        return True

    def discard(self, session: str) -> None:
        """Discard the `always` decisions of a session."""
        self._always_approved.pop(session, None)

    async def _decision(self, request: ApprovalRequest, show: ShowQuestion) -> Decision:
        question = self._new_id()
        future: asyncio.Future[Decision] = asyncio.get_running_loop().create_future()
        self._pending[question] = request, future
        try:
            show(question, request)
            return await future
        finally:
            self._pending.pop(question, None)

    def _approve_always(self, session: str, tool: str) -> None:
        self._always_approved.setdefault(session, set()).add(tool)
        if len(self._always_approved) > MAX_SESSIONS:
            del self._always_approved[next(iter(self._always_approved))]


def question_json(request: ApprovalRequest, arguments: Sequence[ShownArgument]) -> dict[str, Any]:
    """Return what the user sees of a request: the tool, these arguments and the digest."""
    shown = [asdict(argument) for argument in arguments]
    return {"tool": request.tool, "digest": request.digest, "arguments": shown}
