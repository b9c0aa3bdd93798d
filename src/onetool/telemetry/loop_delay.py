"""The delay of the event loop: how long what is ready to run waits."""

import asyncio

from .durations import Durations

BUCKETS_S = (0.001, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10)
INTERVAL_S = 0.25


async def measure_loop_delay(delays: Durations) -> None:
    """Measure how much later than due a timer fires, several times a second, until cancelled."""
    loop = asyncio.get_running_loop()
    while True:
        due = loop.time() + INTERVAL_S
        await asyncio.sleep(INTERVAL_S)
        delays.add(max(0.0, loop.time() - due))
