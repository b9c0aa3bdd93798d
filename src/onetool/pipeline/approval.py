"""Approval of tools that are not read-only."""

import asyncio
import logging
from collections.abc import Callable, Mapping
from typing import Any

from onetool.catalog.catalog import ResolvedTool
from onetool.domain.calls.approval_request import MAX_ARGUMENTS, ApprovalRequest, approval_request
from onetool.domain.calls.caller import Caller
from onetool.domain.calls.effect import Effect
from onetool.domain.errors import ExecutionError, Reason
from onetool.domain.policy.rule import Decision
from onetool.threads import Threads

log = logging.getLogger(__name__)
DEFAULT_TIMEOUT_S = 300.0


class Approver:
    """Asks callers about copies of their arguments, so that what was shown is what runs."""

    def __init__(self, threads: Threads, timeout_s: float = DEFAULT_TIMEOUT_S) -> None:
        self._threads, self._timeout_s = threads, timeout_s

    async def approve(
        self,
        resolved: ResolvedTool,
        args: Mapping[str, Any],
        caller: Caller,
        decision: Decision,
        mask: Callable[[Any], Any],
    ) -> ApprovalRequest | None:
        """Return once the call is approved: the request whose arguments run, or None if none was needed.

        decision: what the policy says about the call.
        mask: masks the credentials of the process and of this call.

        Raises:
            ExecutionError: The call is denied. The message names the setting that decides about it.
        """
        name = resolved.tool.spec.name
        if decision.effect >= Effect.DENY:
            place = " in the settings" if decision.rule.is_setting else ""
            raise ExecutionError(Reason.NEEDS_APPROVAL, f"{name} is denied by {decision.rule}{place}.")
        if decision.effect is Effect.ALLOW:
            return None
        request = await self._request(resolved, args, mask)
        problem = await self._ask(caller, request)
        if problem:
            raise ExecutionError(Reason.NEEDS_APPROVAL, _not_approved(name, problem, decision))
        log.info("approved", extra={"tool": request.tool, "digest": request.digest})
        return request

    async def _request(
        self, resolved: ResolvedTool, args: Mapping[str, Any], mask: Callable[[Any], Any]
    ) -> ApprovalRequest:
        name = resolved.tool.spec.versioned_name
        if len(args) > MAX_ARGUMENTS:
            message = f"{name} is not read-only, and no person can check {len(args):,} arguments. "
            message += f"At most {MAX_ARGUMENTS:,} can be approved."
            raise ExecutionError(Reason.NEEDS_APPROVAL, message)
        return await self._threads.run(approval_request, name, args, mask)

    async def _ask(self, caller: Caller, request: ApprovalRequest) -> str:
        """Return why the call is not approved, or an empty string if it is."""
        limit = self._timeout_s
        try:
            async with caller.pauses.pause(caller.occupied), asyncio.timeout(limit):
                is_approved = await caller.approve(request)
        except TimeoutError:
            return f"was not approved within {limit:g} s"
        except ExecutionError:  # too many calls wait for answers
            raise
        except Exception:  # a failed approval handler has not approved anything
            log.exception("approval handler failed; %s not approved", request.tool)
            return "was not approved"
        return "" if is_approved is True else "was not approved"


def _not_approved(name: str, problem: str, decision: Decision) -> str:
    """Return why a call that must be approved was not made, and what would change that."""
    if decision.rule.is_grant:
        return (
            f"{name} needs approval ({decision.rule}) and {problem}. An owner of the workspace can change it."
        )
    return (
        f"{name} is not read-only and {problem}. "
        f"To allow it without asking, add {name!r} to approval.allow in the settings."
    )
