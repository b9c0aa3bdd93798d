"""MCP servers across a reload of the settings."""

import asyncio
import os
import sys

from onetool import onetool_runtime
from onetool.bootstrap import open_runtime
from onetool.domain.calls.caller import Caller
from onetool.settings.configuration import load_configuration
from onetool.settings.paths import find_paths
from support.paths import MCP_SERVERS
from support.waiting import until

SCRIPT = MCP_SERVERS / "faulty_server.py"


def configure(home, *args):
    command = [sys.executable, "-I", str(SCRIPT), "good", *args]
    yaml_args = "".join(f"\n      - {text}" for text in command[1:])
    home.write(
        "onetool.yaml",
        f"servers:\n  s:\n    command: {command[0]}\n    sandbox: false\n    args:{yaml_args}\n",
    )


async def pid_of(ot, tool="s.pid"):
    return int((await ot.call(tool)).data)


def is_gone(pid):
    """Return whether a process has ended."""
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return True
    return False


async def test_code_uses_settings_reloaded_by_another_process(home):
    """A tool that another process denied is also denied inside code."""
    paths = find_paths(home.env, home.cwd)
    runtimes = [open_runtime(lambda: load_configuration(paths, {})) for _ in range(2)]
    caller = Caller(interface="mcp")
    async with runtimes[0] as first, runtimes[1] as second:
        assert (await first.run("tools.echo(message=1)", caller)).data == 1
        home.write("onetool.yaml", "approval: {deny: [tools.echo]}")
        await second.reload()
        refused = await first.run("tools.echo(message=1)", caller)
    assert "approval.deny" in refused.error.message


async def test_reload_does_not_restart_an_unchanged_server(home):
    configure(home)
    async with onetool_runtime() as ot:
        before = await pid_of(ot)
        with (home.config / "onetool.yaml").open("a") as file:
            file.write("aliases: {p: s.pid}\n")
        await ot.call("ot.reload")
        assert await pid_of(ot, "p") == before


async def test_secret_restarts_only_servers_that_use_it(home):
    """Otherwise, to change any secret would end the sessions of all servers, also those of code that runs."""
    configure(home)
    with (home.config / "onetool.yaml").open("a") as file:
        file.write('    env: {NAME: "${USED}"}\n')
    async with onetool_runtime() as ot:
        home.write("secrets.yaml", "USED: first-value")
        await ot.call("ot.reload")
        before = await pid_of(ot)
        home.write("secrets.yaml", "USED: first-value\nOTHER: another-value")
        await ot.call("ot.reload")
        assert await pid_of(ot) == before
        home.write("secrets.yaml", "USED: second-value\nOTHER: another-value")
        await ot.call("ot.reload")
        assert await pid_of(ot) != before


async def test_changed_server_is_restarted_and_the_old_process_ends_after_its_calls(home):
    """Pending calls continue on the old process."""
    configure(home)
    async with onetool_runtime() as ot:
        slow = asyncio.create_task(ot.call("s.hang"))
        old = await pid_of(ot)  # returns after the slow call was sent
        configure(home, "more")
        await ot.call("ot.reload")
        assert await pid_of(ot) != old
        assert not is_gone(old)
        slow.cancel()
        await until(lambda: is_gone(old))


async def test_server_removed_from_the_settings_ends(home):
    configure(home)
    async with onetool_runtime() as ot:
        pid = await pid_of(ot)
        home.write("onetool.yaml", "")
        await ot.call("ot.reload")
        await until(lambda: is_gone(pid))
