"""Toggles and rate limits."""

import pytest

from onetool.storage.files.toggles import FileToggles
from onetool.storage.memory.rate_limits import MemoryRateLimiter
from onetool.threads import Threads


async def test_corrupt_toggles_raise_instead_of_enabling_tools(tmp_path):
    """The file stays unchanged."""
    toggles = FileToggles(tmp_path / "toggles.json", Threads())
    assert await toggles.read() == {}
    await toggles.set("shell", False)
    assert await toggles.read() == {"shell": False}
    file = tmp_path / "toggles.json"
    file.write_bytes(file.read_bytes()[:-3])
    for attempt in (toggles.read, lambda: toggles.set("x", True)):
        with pytest.raises(ValueError, match="Repair or delete"):
            await attempt()


async def test_rate_limit_allows_a_burst_then_a_steady_rate():
    """Keys that are no longer limited are dropped."""
    clock = [0.0]
    limiter = MemoryRateLimiter(lambda: clock[0])
    assert [await limiter.take("a", 2) for _ in range(3)] == [0.0, 0.0, 30.0]
    clock[0] = 30.0
    assert await limiter.take("a", 2) == 0.0
    assert await limiter.take("a", 2) > 0
    limiter._due = {str(n): 1.0 for n in range(10_000)}
    assert await limiter.take("b", 1) == 0.0
    assert len(limiter._due) == 1
