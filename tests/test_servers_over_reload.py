"""Other MCP servers while the settings are read again."""

import asyncio
import os
import sys
import time
from pathlib import Path

from onetool import onetool_runtime
from onetool.bootstrap import open_runtime
from onetool.domain.caller import Caller
from onetool.settings.configuration import load_configuration
from onetool.settings.places import find_places

SCRIPT = Path(__file__).parent / "mcp_servers" / "by_hand.py"
PATIENCE = 10.0


def configure(home, *args):
    command = [sys.executable, "-I", str(SCRIPT), "good", *args]
    listed = "".join(f"\n      - {text}" for text in command[1:])
    home.write("onetool.yaml", f"servers:\n  s:\n    command: {command[0]}\n    args:{listed}\n")


async def pid_of(ot, tool="s.pid"):
    return int((await ot.call(tool)).data)


async def until_gone(pid):
    end = time.monotonic() + PATIENCE
    while time.monotonic() < end:
        try:
            os.kill(pid, 0)
        except ProcessLookupError:
            return True
        await asyncio.sleep(0.02)
    return False


async def test_code_follows_what_another_process_has_reloaded(home):
    """A tool that was forbidden since is refused inside of code as well."""
    places = find_places(home.env, home.cwd)
    opened = [open_runtime(lambda: load_configuration(places, {})) for _ in range(2)]
    caller = Caller(door="mcp")
    async with opened[0] as one, opened[1] as other:
        assert (await one.run("tools.echo(message=1)", caller)).data == 1
        home.write("onetool.yaml", "approval: {deny: [tools.echo]}")
        await other.reload()
        refused = await one.run("tools.echo(message=1)", caller)
    assert "approval.deny" in refused.error.message


async def test_a_server_that_nothing_was_changed_about_goes_on_running(home):
    """A reload for one new alias does not restart five servers."""
    configure(home)
    async with onetool_runtime() as ot:
        before = await pid_of(ot)
        with (home.config / "onetool.yaml").open("a") as file:
            file.write("aliases: {p: s.pid}\n")
        await ot.call("ot.reload")
        assert await pid_of(ot, "p") == before


async def test_a_changed_server_is_started_anew_and_the_old_one_ends_after_its_calls(home):
    """Whoever waits for an answer may go on waiting; then nothing of the old server is left."""
    configure(home)
    async with onetool_runtime() as ot:
        slow = asyncio.create_task(ot.call("s.hang"))
        old = await pid_of(ot)  # answered after the slow one was sent
        configure(home, "more")
        await ot.call("ot.reload")
        assert await pid_of(ot) != old
        os.kill(old, 0)
        slow.cancel()
        assert await until_gone(old)


async def test_a_server_that_was_taken_out_ends(home):
    """What the settings no longer name does not run."""
    configure(home)
    async with onetool_runtime() as ot:
        pid = await pid_of(ot)
        home.write("onetool.yaml", "")
        await ot.call("ot.reload")
        assert await until_gone(pid)
