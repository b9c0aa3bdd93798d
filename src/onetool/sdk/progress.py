"""Tell whoever waits how far the work is, and see whether anybody still does."""

from onetool.domain.errors import NoRuntime
from onetool.runtime import current


def report_progress(done: float, total: float | None = None, message: str = "") -> None:
    """Say that so much is done, of so much if that is known; outside of a tool nobody listens."""
    try:
        invocation = current().invocation
    except NoRuntime:
        return
    invocation.caller.progress(done, total, message)


def is_cancelled() -> bool:
    """Whether nobody waits for the running tool any more; outside of a tool never."""
    try:
        return current().invocation.over.is_up
    except NoRuntime:
        return False
