"""Progress reports and cancellation checks for tools."""

from onetool.domain.errors import NoActiveRuntime
from onetool.runtime.active_call import current_call


def report_progress(done: float, total: float | None = None, message: str = "") -> None:
    """Report progress to the caller. Does nothing outside a tool call."""
    try:
        invocation = current_call().invocation
    except NoActiveRuntime:
        return
    invocation.report_progress(done, total, message)


def is_cancelled() -> bool:
    """Return whether the current call is cancelled; always False outside a tool call."""
    try:
        return current_call().invocation.cancelled.is_set
    except NoActiveRuntime:
        return False
