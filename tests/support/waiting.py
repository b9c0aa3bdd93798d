"""Waiting for a condition in async tests."""

import asyncio
from collections.abc import Callable

HANG_S = 180.0
"""Seconds after which a test hangs, even on a busy machine."""


async def until(condition: Callable[[], object]) -> None:
    """Wait until a condition is true, and raise TimeoutError if it never becomes true."""
    async with asyncio.timeout(HANG_S):
        while not condition():
            await asyncio.sleep(0.005)
