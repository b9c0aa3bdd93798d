"""Progress of the calls in code, as progress of the run."""

from itertools import count

from onetool.domain.calls.caller import ProgressHandler, ignore_progress


class RunProgress:
    """Reports the progress of several tools to one caller. The amount increases; messages name the tool."""

    def __init__(self, forward: ProgressHandler) -> None:
        self._forward, self._numbers = forward, count(1)

    def of(self, tool: str) -> ProgressHandler:
        """Return the handler for the progress of one call."""
        if self._forward is ignore_progress:
            return ignore_progress

        def report(done: float, total: float | None, message: str) -> None:
            amount = f"{done:g}" if total is None else f"{done:g}/{total:g}"
            self._forward(next(self._numbers), None, f"{tool}: {amount} {message}".rstrip())

        return report
