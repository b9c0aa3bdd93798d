"""Contract suite of the toggle stores, failures specific to files, and rate limits."""

import asyncio

import pytest

from onetool.storage.files.toggles import FileToggles
from onetool.storage.memory.toggles import MemoryToggles
from onetool.storage.postgres.toggles import PostgresToggles
from onetool.threads import Threads


@pytest.fixture(params=["memory", "files", "postgres"])
def toggles(request, tmp_path):
    if request.param == "postgres":
        return PostgresToggles(request.getfixturevalue("workspace"), Threads())
    return MemoryToggles() if request.param == "memory" else FileToggles(tmp_path / "toggles.json", Threads())


async def test_last_flag_of_each_id_is_read(toggles):
    assert await toggles.read() == {}
    for id, is_enabled in (("shell", False), ("Ö.漢", False), ("shell", True)):
        await toggles.set(id, is_enabled)
    assert await toggles.read() == {"shell": True, "Ö.漢": False}
    await toggles.aclose()


async def test_every_write_changes_the_generation(toggles):
    seen = [toggles.generation()]
    for is_enabled in (False, True):
        await toggles.set("shell", is_enabled)
        seen.append(toggles.generation())
    assert len(set(seen)) == 3
    await toggles.read()
    assert toggles.generation() == seen[-1]


async def test_concurrent_writes_are_all_stored(toggles):
    await asyncio.gather(*(toggles.set(f"t{number}", number % 2 == 0) for number in range(8)))
    assert await toggles.read() == {f"t{number}": number % 2 == 0 for number in range(8)}


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
