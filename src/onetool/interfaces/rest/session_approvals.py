"""Approvals of chat sessions: what the user always approves is not asked again."""

from onetool.domain.calls.approval_request import ApprovalRequest
from onetool.domain.calls.caller import ApprovalHandler
from onetool.domain.calls.question import SHOW_EVERYTHING, Ask, approval_question
from onetool.threads import Threads

ALWAYS = "always"
"""Field of an answer that approves all calls of the tool in the session."""
MAX_SESSIONS = 1_000
"""Sessions whose `always` decisions are stored; the oldest session is discarded first."""


class SessionApprovals:
    """Asks whether calls may run, and stores the tools that are always approved in a session."""

    def __init__(self, threads: Threads) -> None:
        self._threads = threads
        self._always_approved: dict[str, set[str]] = {}

    def handler(self, session: str, ask: Ask) -> ApprovalHandler:
        """Return the approval handler of a session."""

        async def approve(request: ApprovalRequest) -> bool:
            if request.tool in self._always_approved.get(session, ()):
                return True
            fields = (await ask(approval_question(request))).fields
            if fields.get(SHOW_EVERYTHING):
                complete = await self._threads.run(request.complete_text)
                fields = (await ask(approval_question(request, complete))).fields
            is_approved = fields.get("allow") is True
            if is_approved and fields.get(ALWAYS) is True:
                self._approve_always(session, request.tool)
            return is_approved

        return approve

    def discard(self, session: str) -> None:
        """Discard the `always` decisions of a session."""
        self._always_approved.pop(session, None)

    def _approve_always(self, session: str, tool: str) -> None:
        self._always_approved.setdefault(session, set()).add(tool)
        if len(self._always_approved) > MAX_SESSIONS:
            del self._always_approved[next(iter(self._always_approved))]
