"""Lookups of keys and sessions: each workspace has a few at a time, and all together do not have many."""

import asyncio
import gc

import pytest

from onetool.bootstrap import lookup_slots
from onetool.bootstrap.lookup_slots import MAX_ALL_LOOKUPS, MAX_LOOKUPS, LookupSlots
from onetool.domain.errors import StoreUnavailable
from support.waiting import HANG_S


class Lookups:
    """Lookups that last until they are told to end."""

    def __init__(self):
        self.slots, self.running, self.end = LookupSlots(), [], asyncio.Event()
        self.tasks = []

    async def _look_up(self, slug):
        async with self.slots.slot(slug):
            self.running.append(slug)
            await self.end.wait()

    async def start(self, *slugs):
        """Start lookups, and let them run until they wait."""
        self.tasks += [asyncio.create_task(self._look_up(slug)) for slug in slugs]
        for _ in range(20):
            await asyncio.sleep(0)

    async def finish(self):
        self.end.set()
        async with asyncio.timeout(HANG_S):
            await asyncio.gather(*self.tasks)


async def test_lookups_of_one_workspace_do_not_keep_those_of_another_waiting():
    lookups = Lookups()
    await lookups.start(*["full"] * 50)
    assert lookups.running == ["full"] * MAX_LOOKUPS
    await lookups.start("other")
    assert lookups.running[MAX_LOOKUPS:] == ["other"]
    await lookups.finish()
    assert lookups.running.count("full") == 50


async def test_many_names_of_workspaces_leave_connections_free():
    """Also those that do not exist."""
    lookups = Lookups()
    await lookups.start(*(f"w{number}" for number in range(50)))
    assert len(lookups.running) == MAX_ALL_LOOKUPS
    await lookups.finish()
    gc.collect()
    assert not lookups.slots._of


async def test_lookup_that_waits_for_too_long_is_refused_and_leaves_its_place(monkeypatch):
    monkeypatch.setattr(lookup_slots, "LOOKUP_WAIT_S", 0.01)
    lookups = Lookups()
    await lookups.start(*(f"w{number}" for number in range(MAX_ALL_LOOKUPS)))
    for _ in range(MAX_LOOKUPS + 1):
        with pytest.raises(StoreUnavailable, match="Too many keys or sessions"):
            async with lookups.slots.slot("late"):
                pass
    await lookups.finish()
    async with lookups.slots.slot("late"):
        pass
