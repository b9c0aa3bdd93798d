"""Reserves a session for a question, for as long as it takes."""

import asyncio
import logging
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

from onetool.ports import SessionLeases

log = logging.getLogger(__name__)
RENEWALS_PER_LEASE = 3


class SessionTaken(Exception):
    """Another process has reserved the session."""


@asynccontextmanager
async def reserved(leases: SessionLeases, session: str, on_loss: Callable[[], None]) -> AsyncIterator[None]:
    """Reserve a session for the block.

    on_loss: called if the reservation cannot be renewed before it ends.

    Raises:
        SessionTaken: Another process has reserved it.
        StoreUnavailable: It cannot be reserved.
    """
    taken_at = asyncio.get_running_loop().time()
    if not await leases.take(session):
        raise SessionTaken
    renewal = asyncio.create_task(_renew(leases, session, taken_at, on_loss))
    try:
        yield
    finally:
        renewal.cancel()
        await asyncio.wait([renewal])  # a renewal must not follow the release
        try:
            await leases.release(session)
        except OSError as error:
            log.warning("cannot release session %s, it is free when its lease ends: %s", session, error)


async def _renew(leases: SessionLeases, session: str, taken_at: float, on_loss: Callable[[], None]) -> None:
    loop = asyncio.get_running_loop()
    end = taken_at + leases.lease_s
    is_held = True
    while is_held:
        await asyncio.sleep(leases.lease_s / RENEWALS_PER_LEASE)
        started = loop.time()
        try:
            async with asyncio.timeout_at(end):
                is_held = await leases.renew(session)
            end = started + leases.lease_s
        except OSError as error:  # also TimeoutError
            log.warning("cannot renew the lease of session %s: %s", session, error)
            is_held = loop.time() < end
    log.warning("session %s is not reserved any more; its question is stopped", session)
    on_loss()
