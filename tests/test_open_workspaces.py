"""Open workspaces: opened once, closed when idle, never while in use."""

import asyncio
from contextlib import asynccontextmanager

import pytest

from onetool.bootstrap.workspaces import MAX_CLOSING, OpenWorkspaces


class Opener:
    """Opens texts, and notes what happens."""

    def __init__(self):
        self.events, self.errors, self.may_open = [], {}, asyncio.Event()
        self.may_open.set()

    @asynccontextmanager
    async def open(self, slug):
        await self.may_open.wait()
        if slug in self.errors:
            raise self.errors[slug]
        self.events.append(f"+{slug}")
        task = asyncio.current_task()
        yield slug.upper()
        assert asyncio.current_task() is task  # cancel scopes demand it
        self.events.append(f"-{slug}")


@pytest.fixture
def opener():
    return Opener()


async def test_many_users_open_a_workspace_once(opener):
    workspaces = OpenWorkspaces(opener.open)
    opener.may_open.clear()

    async def use():
        async with workspaces.use("a") as workspace:
            return workspace

    users = [asyncio.create_task(use()) for _ in range(20)]
    await asyncio.sleep(0)
    users[0].cancel()  # does not stop the opening that the others wait for
    opener.may_open.set()
    assert await asyncio.gather(*users[1:]) == ["A"] * 19
    assert opener.events == ["+a"]
    await workspaces.aclose()
    assert opener.events == ["+a", "-a"]


async def test_least_recently_used_workspace_is_closed_but_none_in_use(opener):
    workspaces = OpenWorkspaces(opener.open, max_open=2)
    async with workspaces.use("a"):
        for slug in ("b", "c", "b"):
            async with workspaces.use(slug):
                pass
        assert len(workspaces) == 2
    async with workspaces.use("d"):
        pass
    await workspaces.aclose()
    assert opener.events[:3] == ["+a", "+b", "+c"]
    assert opener.events.index("-b") < opener.events.index("-a")
    assert sorted(event for event in opener.events if event[0] == "-") == ["-a", "-b", "-b", "-c", "-d"]


async def test_idle_workspace_is_closed_and_opened_again(opener):
    time = 0.0
    workspaces = OpenWorkspaces(opener.open, idle_s=10, clock=lambda: time)
    async with workspaces.use("a"), workspaces.use("b"):
        time = 20.0
        workspaces.close_idle()
        assert len(workspaces) == 2
    async with workspaces.use("b"):
        time = 40.0
    workspaces.close_idle()
    assert len(workspaces) == 1
    async with workspaces.use("a") as workspace:
        assert workspace == "A"
    assert opener.events.count("+a") == 2
    await workspaces.aclose()


async def test_failure_reaches_every_user_and_is_tried_again(opener):
    workspaces = OpenWorkspaces(opener.open)
    opener.errors["a"] = LookupError("no such workspace")

    async def use():
        async with workspaces.use("a") as workspace:
            return workspace

    results = await asyncio.gather(use(), use(), return_exceptions=True)
    assert [str(result) for result in results] == ["no such workspace"] * 2
    assert len(workspaces) == 0
    opener.errors.clear()
    assert await use() == "A"
    await workspaces.aclose()


async def test_error_of_a_user_leaves_the_workspace_open(opener):
    workspaces = OpenWorkspaces(opener.open)
    with pytest.raises(ValueError, match="mine"):
        async with workspaces.use("a"):
            raise ValueError("mine")
    async with workspaces.use("a"):
        pass
    assert opener.events == ["+a"]
    await workspaces.aclose()


async def test_few_workspaces_are_closed_at_a_time():
    closing, most = 0, 0

    @asynccontextmanager
    async def open_slowly_closed(slug):
        nonlocal closing, most
        yield slug
        closing += 1
        most = max(most, closing)
        await asyncio.sleep(0.001)
        closing -= 1

    workspaces = OpenWorkspaces(open_slowly_closed)
    for number in range(5 * MAX_CLOSING):
        async with workspaces.use(str(number)):
            pass
    await workspaces.aclose()
    assert (len(workspaces), closing, most) == (0, 0, MAX_CLOSING)
