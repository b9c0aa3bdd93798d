"""The health of a running OneTool."""

import platform
import time
from collections.abc import Sequence
from pathlib import Path

from onetool.catalog.mcp_servers import HEALTH_TIMEOUT_S, UNTIL_STARTED_S
from onetool.domain.health import Health
from onetool.files.writable import check_writable
from onetool.settings.configuration import find_problem
from onetool.threads import Threads
from onetool.version import __version__

from .state import State

__all__ = ["UNTIL_STARTED_S", "check_health"]

BLOCK_SHOWN_S = 3600.0
"""Time for which health shows what has blocked the event loop, in seconds."""


async def check_health(
    state: State, threads: Threads, *, connect: bool = True, timeout_s: float = HEALTH_TIMEOUT_S
) -> Health:
    """Check every part.

    connect: whether to connect to all enabled servers. If false, their present states are reported.
    timeout_s: time for each server to respond. One that has not started by then is reported as starting.
    """
    return Health(
        version=__version__,
        python=platform.python_version(),
        cwd=str(state.configuration.paths.cwd),
        tool_count=await state.catalog.count_local(),
        failures=dict(state.catalog.failures),
        skipped=dict(state.catalog.skipped),
        untrusted_files=state.configuration.untrusted_files,
        abandoned=threads.abandoned,
        unwritable=await threads.run(_find_unwritable, state.directories),
        unavailable_secrets=state.configuration.secrets.unavailable,
        settings_error=await threads.run(find_problem, state.configuration.paths),
        blocked_loop=_blocked_loop(threads),
        servers=await state.servers.check_all(timeout_s if connect else None),
    )


def _blocked_loop(threads: Threads) -> str:
    block = threads.watchdog.last_block
    if block is None or time.monotonic() - block.ended_at > BLOCK_SHOWN_S:
        return ""
    return f"{block.where}, for {block.seconds:.0f} s,"


def _find_unwritable(directories: Sequence[Path]) -> dict[str, str]:
    reasons = {str(directory): check_writable(directory) for directory in directories}
    return {directory: reason for directory, reason in reasons.items() if reason}
