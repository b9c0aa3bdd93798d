"""The wait for a database that is starting, or away for a moment, when a process of OneTool starts."""

import asyncio
import logging
import re

from onetool.domain.errors import StoreUnavailable
from onetool.threads import Threads

from .database import connect

log = logging.getLogger(__name__)
START_WAIT_S = 60.0
"""Seconds for which a process that starts waits for the database."""
RETRY_S = 1.0
STARTING = re.compile("starting up|shutting down|not yet accepting|recovery mode|too many|connection slots")
"""Errors of a server that may accept connections later."""


async def wait_for_database(url: str, threads: Threads) -> None:
    """Wait until a database can be reached.

    Raises:
        SettingsError: The URL is invalid.
        StoreUnavailable: It could not be reached in time, or refuses this user or database.
    """
    loop = asyncio.get_running_loop()
    end = loop.time() + START_WAIT_S
    is_reported = False
    while True:
        try:
            return await threads.run(_try, url)
        except StoreUnavailable as problem:
            if loop.time() > end or is_refused(str(problem)):
                raise
            if not is_reported:
                log.warning("trying again for %d s: %s", START_WAIT_S, problem)
                is_reported = True
        await asyncio.sleep(RETRY_S)


def _try(url: str) -> None:
    with connect(url):
        pass


def is_refused(problem: str) -> bool:
    """Return whether all servers of a URL were reached and have refused for a reason that does not pass."""
    attempts = [line for line in problem.splitlines() if "connection to server" in line]
    refused = [line for line in attempts if "FATAL: " in line and not STARTING.search(line)]
    return bool(attempts) and refused == attempts
