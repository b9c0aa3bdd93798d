"""The check of what tools and servers are sent, off the event loop if it is large."""

import asyncio
from collections.abc import Callable

from onetool.domain.http.outgoing_check import OutgoingCheck
from onetool.domain.http.urls import Url

MAX_CHECKED_AT_ONCE = 64 * 1024
"""Characters. Larger texts are searched on a thread, because that takes time."""


async def check_content(check: OutgoingCheck, url: Url, text: Callable[[], str], subject: str) -> None:
    """Check that what is sent to a URL contains no secret that its host may not have.

    text: returns all that is sent. Called only if there are such secrets.

    Raises:
        ExecutionError: It contains one.
    """
    if not check.is_needed(url):
        return
    sent = text()
    if len(sent) <= MAX_CHECKED_AT_ONCE:
        check.check(url, sent, subject)
    else:
        await asyncio.to_thread(check.check, url, sent, subject)
