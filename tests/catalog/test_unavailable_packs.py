"""Errors say why no tool of a pack can be called."""

import pytest

from onetool.domain.bundles.pack_views import bundle_id_of
from onetool.domain.calls.caller import Caller
from onetool.testing import FakeMcpTool, fake_mcp_server, memory_runtime

TOOL = FakeMcpTool("search", "Search.", {"type": "object"}, lambda args: "found")


@pytest.mark.parametrize("tools", [[], [TOOL]])
async def test_not_found_says_that_the_server_is_unavailable(tools):
    """`Tool not found` alone would suggest a typo."""
    async with memory_runtime(servers=[fake_mcp_server("github", tools, connected=False)]) as ot:
        message = (await ot.call("github.serach")).error.message
        assert ("'github' is unavailable: it is not connected" in message) == (not tools)
        assert ("Did you mean github.search" in message) == bool(tools)


async def test_code_error_says_that_the_server_is_unavailable():
    async with memory_runtime(servers=[fake_mcp_server("github", [], connected=False)]) as ot:
        result = await ot.run("github.search()")
        assert result.error.message.startswith("line 1: 'github' is unavailable: it is not connected\n")


async def test_code_error_says_that_the_pack_is_disabled():

    def search() -> str:
        """Search."""
        return ""

    async with memory_runtime(packs={"brave": [search]}) as ot:
        await ot.runtime.state.bundles.set_bundle_enabled(bundle_id_of("brave"), False)
        result = await ot.run("brave.search()")
        assert "'brave' is unavailable: it is disabled" in result.error.message


async def test_code_error_says_that_no_tool_of_the_pack_is_allowed():

    def search() -> str:
        """Search."""
        return ""

    restricted = Caller(interface="python", allowed=frozenset({"brave.other"}))
    async with memory_runtime(packs={"brave": [search]}, caller=restricted) as ot:
        result = await ot.run("brave.search()")
        problem = "line 1: 'brave' is unavailable: it has no tools that you may call\n"
        assert result.error.message.startswith(problem)


async def test_listing_has_the_tools_of_all_servers():
    servers = [fake_mcp_server(name, [TOOL]) for name in ("github", "gitlab")]
    async with memory_runtime(servers=servers) as ot:
        names = [tool["name"] for tool in (await ot.call("ot.tools", pattern=".search")).data]
        assert {"github.search", "gitlab.search"} <= set(names)
