"""Whether a tool that changes things may run."""

import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from onetool.catalog.catalog import Resolved
from onetool.domain.caller import Caller
from onetool.domain.errors import ExecutionError, Reason
from onetool.domain.tool import any_matches

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Approval:
    """The operator's patterns; what they leave open the caller is asked."""

    allow: Sequence[str] = ()
    deny: Sequence[str] = ()

    async def check(self, resolved: Resolved, args: Mapping[str, Any], caller: Caller) -> bool:
        """Return when the call may go on, and whether somebody had to be asked.

        Raises ExecutionError that names the setting which would allow it.
        """
        spec = resolved.tool.spec
        name = spec.name
        if self.deny and resolved.fits(self.deny):
            raise ExecutionError(
                Reason.NEEDS_APPROVAL, f"{name} is refused by approval.deny in the settings."
            )
        if not resolved.changes or any_matches(self.allow, spec.names):
            return False
        if not await _ask(caller, name, args):
            message = (
                f"{name} changes things and was not approved. "
                f"To allow it without asking, add {name!r} to approval.allow in the settings."
            )
            raise ExecutionError(Reason.NEEDS_APPROVAL, message)
        return True


async def _ask(caller: Caller, name: str, args: Mapping[str, Any]) -> bool:
    try:
        return await caller.approve(name, args) is True
    except Exception:  # whoever cannot be asked has not said yes
        log.exception("approval of %s could not be asked for", name)
        return False
