"""Approval of tools that are not read-only."""

import asyncio
import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from onetool.catalog.catalog import ResolvedTool
from onetool.domain.calls.approval_request import ApprovalRequest, approval_request
from onetool.domain.calls.caller import Caller, always_approve
from onetool.domain.errors import ExecutionError, Reason
from onetool.domain.tools.tool import any_matches
from onetool.threads import Threads

log = logging.getLogger(__name__)
DEFAULT_TIMEOUT_S = 300.0


@dataclass(frozen=True, slots=True)
class ApprovalPolicy:
    """Name patterns from the settings. The caller decides about tools that match neither."""

    allow: Sequence[str] = ()
    deny: Sequence[str] = ()
    timeout_s: float = DEFAULT_TIMEOUT_S
    """Seconds after which a call without a decision is denied."""

    def requires_question(self, resolved: ResolvedTool, caller: Caller) -> bool:
        """Return whether the caller has to be asked before the call runs.

        Raises:
            ExecutionError: The settings deny the tool.
        """
        spec = resolved.tool.spec
        if self.deny and resolved.matches(self.deny):
            message = f"{spec.name} is denied by approval.deny in the settings."
            raise ExecutionError(Reason.NEEDS_APPROVAL, message)
        is_allowed = resolved.read_only or any_matches(self.allow, spec.names)
        return not is_allowed and caller.approve is not always_approve


class Approver:
    """Asks callers about copies of their arguments, so that what was shown is what runs."""

    def __init__(self, policy: ApprovalPolicy, threads: Threads) -> None:
        self._policy, self._threads = policy, threads

    async def approve(
        self, resolved: ResolvedTool, args: Mapping[str, Any], caller: Caller, mask: Callable[[Any], Any]
    ) -> ApprovalRequest | None:
        """Return once the call is approved: the request whose arguments run, or None if none was needed.

        mask: masks the credentials of the process and of this call.

        Raises:
            ExecutionError: The call is denied. The message names the setting that decides about it.
        """
        if not self._policy.requires_question(resolved, caller):
            return None
        name = resolved.tool.spec.name
        request = await self._threads.run(approval_request, name, args, mask)
        problem = await self._ask(caller, request)
        if problem:
            message = (
                f"{name} is not read-only and {problem}. "
                f"To allow it without asking, add {name!r} to approval.allow in the settings."
            )
            raise ExecutionError(Reason.NEEDS_APPROVAL, message)
        log.info("approved", extra={"tool": name, "digest": request.digest})
        return request

    async def _ask(self, caller: Caller, request: ApprovalRequest) -> str:
        """Return why the call is not approved, or an empty string if it is."""
        limit = self._policy.timeout_s
        try:
            async with asyncio.timeout(limit):
                is_approved = await caller.approve(request)
        except TimeoutError:
            return f"was not approved within {limit:g} s"
        except Exception:  # a failed approval handler has not approved anything
            log.exception("approval handler failed; %s not approved", request.tool)
            return "was not approved"
        return "" if is_approved is True else "was not approved"
