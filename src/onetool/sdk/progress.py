"""Progress reports and cancellation checks for tools."""

from onetool.domain.errors import NoActiveRuntime
from onetool.runtime.active_call import current_call

from .forwarding import in_runtime


@in_runtime
def report_progress(done: float, total: float | None = None, message: str = "") -> None:
    """Report progress to the caller. Does nothing outside a tool call."""
    try:
        invocation = current_call().invocation
    except NoActiveRuntime:
        return
    invocation.report_progress(done, total, message)


@in_runtime
def is_cancelled() -> bool:
    """Return whether the current call is cancelled; always False outside a tool call."""
    try:
        return current_call().invocation.cancelled.is_set
    except NoActiveRuntime:
        return False
