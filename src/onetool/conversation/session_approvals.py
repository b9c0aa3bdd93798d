"""Approvals of chat sessions: what the user always approves is not asked again."""

from onetool.domain.calls.approval_request import ApprovalRequest
from onetool.domain.calls.caller import ApprovalHandler
from onetool.domain.calls.question import SHOW_EVERYTHING, Ask, approval_question
from onetool.ports import SessionApprovalStore
from onetool.threads import Threads

ALWAYS = "always"
"""Field of an answer that approves all calls of the tool in the session."""


class SessionApprovals:
    """Asks whether calls may run, and stores the tools that are always approved in a session."""

    def __init__(self, store: SessionApprovalStore, threads: Threads) -> None:
        self._store, self._threads = store, threads

    def handler(self, session: str, ask: Ask) -> ApprovalHandler:
        """Return the approval handler of a session."""

        async def approve(request: ApprovalRequest) -> bool:
            if request.tool in await self._store.tools(session):
                return True
            fields = (await ask(approval_question(request))).fields
            if fields.get(SHOW_EVERYTHING):
                complete = await self._threads.run(request.complete_text)
                fields = (await ask(approval_question(request, complete))).fields
            is_approved = fields.get("allow") is True
            if is_approved and fields.get(ALWAYS) is True:
                await self._store.add(session, request.tool)
            return is_approved

        return approve

    async def discard(self, session: str) -> None:
        """Discard the `always` decisions of a session."""
        await self._store.discard(session)
