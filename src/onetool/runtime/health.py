"""The health of a running OneTool."""

import platform

from onetool.domain.health import Health
from onetool.threads import Threads
from onetool.version import __version__

from .state import State


async def check_health(state: State, threads: Threads) -> Health:
    """Check every part. Connects to all enabled servers."""
    return Health(
        version=__version__,
        python=platform.python_version(),
        cwd=str(state.configuration.paths.cwd),
        tool_count=await state.catalog.count_local(),
        failures=dict(state.catalog.failures),
        skipped=dict(state.catalog.skipped),
        untrusted_files=state.configuration.untrusted_files,
        abandoned=threads.abandoned,
        servers=await state.servers.check_all(),
    )
