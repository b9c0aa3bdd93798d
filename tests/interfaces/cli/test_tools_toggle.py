"""`onetool tools enable` and `disable`, for tools of packs, settings, bundles and servers."""

import asyncio
import json

from support.listed_server import ListedServer
from support.onetool_process import on_a_terminal, onetool
from support.rest_process import new_id, python_tool

PACK = """
def one() -> int:
    "One."
    return 1

def two() -> int:
    "Two."
    return 2
"""
MOCK = {
    "type": "function",
    "name": "weather",
    "handler": "h",
    "description": "Sky.",
    "parameters": {"type": "object"},
    "implementation": {"type": "mock", "mock_response": 1},
}


def enabled_names(pattern=""):
    return {tool["name"] for tool in json.loads(onetool("tools", "list", pattern, "--json").stdout)}


def test_disabled_tool_cannot_be_called_until_it_is_enabled(home):
    assert onetool("tools", "disable", "tools.echo").stdout == "tools.echo is disabled.\n"
    refused = json.loads(onetool("call", "tools.echo", "message=hi").stdout)
    assert (refused["ok"], "disabled" in refused["error"]["message"]) == (False, True)
    assert onetool("tools", "disable", "tools.echo").stdout == "Nothing to change: already disabled.\n"
    assert onetool("tools", "enable", "tools.echo").stdout == "tools.echo is enabled.\n"
    assert json.loads(onetool("call", "tools.echo", "message=hi").stdout)["data"] == "hi"


def test_pattern_alias_and_tool_of_the_settings(home):
    home.write("onetool.yaml", json.dumps({"aliases": {"now": "time.now"}, "tools": [MOCK]}))
    home.write("tools/mine.py", PACK)
    done = onetool("tools", "disable", "mine.*", "now", "weather")
    assert done.stdout.splitlines() == [
        "mine.one is disabled.",
        "mine.two is disabled.",
        "time.now is disabled.",
        "config.weather is disabled.",
    ]
    assert {"mine.one", "mine.two", "time.now", "weather"}.isdisjoint(enabled_names())


def test_unknown_name_changes_nothing_and_suggests_the_nearest(home):
    done = onetool("tools", "disable", "tools.echo", "time.nwo")
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr == "Error: No tool matches 'time.nwo'. Did you mean time.now?\n"
    assert "tools.echo" in enabled_names("tools.")


def test_tool_of_a_server(home):
    server = ListedServer(home)
    server.list({"name": "read", "inputSchema": {"type": "object"}})
    server.configure()
    assert onetool("tools", "disable", "s.read").stdout == "s.read is disabled.\n"
    assert "s.read" not in enabled_names("s.")


def test_versions_of_a_stored_tool(home):
    """A name without a version disables all, so that no older one takes its place, and enables the newest."""
    home.write("tools/mine.py", PACK)
    bundle = new_id()

    async def store(runtime):
        body = {"slug": "stock", "displayName": "S", "description": "", "isEnabled": True}
        await runtime.state.bundles.put_bundle(bundle, body)
        for version in ("v1", "v2"):
            await runtime.state.bundles.put_tool((bundle, "count", version), python_tool("mine.one"))

    async def run():
        async with ListedServer(home).open() as runtime:
            await store(runtime)

    asyncio.run(run())
    disabled = onetool("tools", "disable", "stock.count").stdout
    assert disabled == "stock.count@v1 is disabled.\nstock.count@v2 is disabled.\n"
    assert "stock.count" not in enabled_names("stock")
    assert onetool("tools", "enable", "stock.count").stdout == "stock.count@v2 is enabled.\n"
    assert onetool("tools", "enable", "stock.count@v1").stdout == "stock.count@v1 is enabled.\n"
    assert onetool("bundles", "disable", "stock").returncode == 0
    refused = onetool("tools", "disable", "time.now", "stock.*", "tools.echo")
    assert (refused.returncode, refused.stdout) == (1, "time.now is disabled.\ntools.echo is disabled.\n")
    problems = refused.stderr.splitlines()
    for version, problem in zip(("v1", "v2"), problems, strict=True):
        assert problem.startswith(
            f"Error: stock.count@{version} cannot be disabled: Bundle 'stock' is disabled"
        )


def test_a_list_is_filtered_by_a_part_of_a_name_or_a_pattern(home):
    home.write("tools/mine.py", PACK)
    assert (
        enabled_names("mine.*") == enabled_names("mine.") == enabled_names("MINE") == {"mine.one", "mine.two"}
    )
    assert enabled_names("*.two") == enabled_names("mine.t?o") == {"mine.two"}
    assert enabled_names("one.*") == set()


def test_disabled_tools_are_listed_with_the_command_that_enables_them(home):
    home.write("tools/mine.py", PACK)
    onetool("tools", "disable", "mine.one")
    listed = json.loads(onetool("tools", "list", "mine.*", "--disabled", "--json").stdout)
    assert [(tool["name"], tool["disabledReason"]) for tool in listed] == [("mine.one", "turned off")]
    assert "1 disabled tool not listed: onetool tools list 'mine.*' --disabled" in on_a_terminal(
        "tools", "list", "mine.*"
    )
    assert "onetool tools enable mine.one" in on_a_terminal("tools", "list", "--disabled")
    for command in (("call", "mine.one"), ("why", "mine.one"), ("tools", "info", "mine.one")):
        assert "Enable it with: onetool tools enable mine.one" in on_a_terminal(*command)
    onetool("tools", "enable", "mine.*")
    assert json.loads(onetool("tools", "list", "--disabled", "--json").stdout) == []


def test_a_tool_of_a_disabled_bundle_is_enabled_with_its_bundle(home):
    """Also if the name of the bundle is not the one of its pack."""
    home.write("tools/my_own.py", PACK)
    assert onetool("bundles", "disable", "my_own").returncode == 0
    command = "onetool bundles enable my_own"
    assert f"Enable it with: {command}" in onetool("call", "my_own.one").stderr
    refused = onetool("tools", "enable", "my_own.one", "my_own.two")
    assert (refused.returncode, refused.stdout) == (1, "")
    assert refused.stderr.count("onetool bundles enable my-own") == 1
    assert onetool(*command.split()[1:]).returncode == 0
    assert enabled_names("my_own.") == {"my_own.one", "my_own.two"}
