"""A reload applies every setting, or names those that need a restart."""

import asyncio
from types import SimpleNamespace

import pytest

from onetool.files.reload_signal import FileReloadSignal
from onetool.runtime.reload import Reloader
from onetool.settings.schema import PromptSettings, Settings
from onetool.threads import Threads
from settings.reload_cases import CASES, RESTART, World, open_world, setting_names
from support.waiting import until

RELOADED = "OK: Configuration reloaded"


def test_every_setting_has_a_case():
    prompts = [f"prompts: {name}" for name in setting_names(PromptSettings)]
    assert sorted([*CASES, *RESTART]) == sorted([*setting_names(Settings), *prompts])


@pytest.mark.linux
@pytest.mark.parametrize("name", CASES)
async def test_reload_applies_a_setting(name, home, capfd):
    """The running process behaves as the new value says."""
    case = CASES[name]
    old, new = case.settings(name)
    async with open_world(home, capfd, old) as world:
        before = await case.observe(world)
        world.write(new)
        assert (await world.ot.call("ot.reload")).data == RELOADED
        after = await case.observe(world)
    assert (before, after) == case.expected


@pytest.mark.parametrize("name", RESTART)
async def test_reload_names_a_setting_that_needs_a_restart(name, home, capfd):
    """Until the value is back to the one in use. The process goes on with that one."""
    case = RESTART[name]
    before, after = case.settings(name)
    old, _ = case.expected
    async with open_world(home, capfd, before) as world:
        assert await case.observe(world) == old
        world.write(after)
        for _ in range(2):
            reloaded = (await world.ot.call("ot.reload")).data
            assert reloaded == f"{RELOADED}\n{name} needs a restart: {old!r} stays active"
        assert await case.observe(world) == old
        world.write(before)
        assert (await world.ot.call("ot.reload")).data == RELOADED


async def test_process_that_follows_a_reload_logs_which_settings_need_a_restart(home, capfd):
    before, after = RESTART["expose"].settings("expose")
    async with open_world(home, capfd, before) as first, open_world(home, capfd, before) as second:
        first.write(after)
        await first.ot.call("ot.reload")
        await until(lambda: log_count(home) == 2)
        assert (await second.ot.call("tools.echo", message=1)).ok
        await until(lambda: log_count(home) == 4)


async def test_change_during_a_reload_is_applied_before_its_author_goes_on(tmp_path):
    """The reload in progress has read the files before the change."""
    values, read, change = ["new"], asyncio.Event(), asyncio.Event()

    async def build(value):
        read.set()
        await change.wait()
        return value

    def configuration():
        return SimpleNamespace(settings=Settings(), value=values[-1])

    signal = FileReloadSignal(tmp_path / "reload")
    reloader = Reloader(read=configuration, build=build, signal=signal, threads=Threads())
    change.set()
    await reloader.start(configuration())
    change.clear()
    signal.notify()
    read.clear()
    follower = asyncio.create_task(reloader.reload_if_changed())
    await read.wait()
    values.append("newer")
    signal.notify()
    asyncio.get_running_loop().call_soon(change.set)
    await reloader.reload_if_changed()
    assert reloader.state.value == "newer"
    await follower


def log_count(home) -> int:
    """Count the records. Two runtimes in one process write each record twice."""
    messages = [record["message"] for record in home.log()]
    return messages.count("setting expose changed but needs a restart; 'run' stays active")


async def test_limit_of_concurrent_calls_counts_calls_that_started_before_the_reload(home, capfd):
    """A reload does not admit as many calls again."""
    async with open_world(home, capfd, {"execution": {"max_concurrent": 3}}) as world:
        assert await peak_over_a_reload(world, lambda: world.ot.call("demo.hold")) == 3


@pytest.mark.linux
async def test_limit_of_concurrent_runs_counts_runs_that_started_before_the_reload(home, capfd):
    async with open_world(home, capfd, {"execution": {"max_concurrent_runs": 3}}) as world:
        assert await peak_over_a_reload(world, lambda: world.ot.run("demo.hold()")) == 3


async def test_limit_of_a_tool_counts_calls_that_started_before_the_reload(home, capfd):
    async with open_world(home, capfd, {}) as world, world.held_calls() as calls:
        calls.start(lambda: world.ot.call("demo.hold_alone"), 1)
        await calls.until_running(1)
        await world.ot.runtime.reload()
        calls.start(lambda: world.ot.call("demo.hold_alone"), 1)
        assert (await world.ot.call("tools.echo", message="later")).ok
        assert calls.running == 1
    assert calls.peak == 1


async def peak_over_a_reload(world: World, start) -> int:
    """Return how many of six calls run at once: two start before a reload, four after it."""
    async with world.held_calls() as calls:
        calls.start(start, 2)
        await calls.until_running(2)
        await world.ot.runtime.reload()
        calls.start(start, 4)
        await calls.until_running(3)
    return calls.peak
