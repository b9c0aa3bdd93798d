"""Approval of tools that are not read-only."""

import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from onetool.catalog.catalog import ResolvedTool
from onetool.domain.calls.caller import Caller
from onetool.domain.errors import ExecutionError, Reason
from onetool.domain.tools.tool import any_matches

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class ApprovalPolicy:
    """Name patterns from the settings. The caller decides about tools that match neither."""

    allow: Sequence[str] = ()
    deny: Sequence[str] = ()

    async def check(self, resolved: ResolvedTool, args: Mapping[str, Any], caller: Caller) -> bool:
        """Return once the call is approved: True if the caller had to be asked, False if not.

        Raises:
            ExecutionError: The call is denied. The message names the setting that decides about it.
        """
        spec = resolved.tool.spec
        name = spec.name
        if self.deny and resolved.matches(self.deny):
            raise ExecutionError(Reason.NEEDS_APPROVAL, f"{name} is denied by approval.deny in the settings.")
        if resolved.read_only or any_matches(self.allow, spec.names):
            return False
        if not await _ask(caller, name, args):
            message = (
                f"{name} is not read-only and was not approved. "
                f"To allow it without asking, add {name!r} to approval.allow in the settings."
            )
            raise ExecutionError(Reason.NEEDS_APPROVAL, message)
        return True


async def _ask(caller: Caller, name: str, args: Mapping[str, Any]) -> bool:
    try:
        return await caller.approve(name, args) is True
    except Exception:  # a failed approval handler has not approved anything
        log.exception("approval handler failed; %s not approved", name)
        return False
