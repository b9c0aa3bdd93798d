"""Packs of which nothing can be called say why, whoever asks."""

import pytest

from onetool.domain.caller import Caller
from onetool.domain.shelf import bundle_id_of
from onetool.testing import ProxyTool, memory_runtime, proxy_server

TOOL = ProxyTool("search", "Search.", {"type": "object"}, lambda args: "found")


@pytest.mark.parametrize("tools", [[], [TOOL]])
async def test_a_tool_of_a_server_that_is_down_is_missing_for_that_reason(tools):
    """`Tool not found` alone would send somebody looking for a typo."""
    async with memory_runtime(servers=[proxy_server("github", tools, connected=False)]) as ot:
        missing = (await ot.call("github.serach")).error.message
        assert ("'github' cannot be used: it is not connected" in missing) == (not tools)
        assert ("Did you mean github.search" in missing) == bool(tools)


async def test_code_that_names_a_server_that_is_down_is_told_why():
    """A model that reads the reason does not try other spellings."""
    async with memory_runtime(servers=[proxy_server("github", [], connected=False)]) as ot:
        result = await ot.run("github.search()")
        assert result.error.message == "line 1: 'github' cannot be used: it is not connected"


async def test_code_that_names_a_pack_that_is_switched_off_is_told_so():
    """A pack with nothing left in it is not an unknown name."""

    def search() -> str:
        """Search."""
        return ""

    async with memory_runtime(packs={"brave": [search]}) as ot:
        await ot.runtime.bundles.switch_bundle(bundle_id_of("brave"), False)
        result = await ot.run("brave.search()")
        assert "'brave' cannot be used: it is disabled" in result.error.message


async def test_code_that_names_a_pack_of_which_it_may_call_nothing_is_told_so():
    """A list of allowed tools that names none of a pack leaves nothing of it to call."""

    def search() -> str:
        """Search."""
        return ""

    narrow = Caller(door="python", allowed=frozenset({"brave.other"}))
    async with memory_runtime(packs={"brave": [search]}, caller=narrow) as ot:
        result = await ot.run("brave.search()")
        assert result.error.message == "line 1: 'brave' cannot be used: it has no tools that you may call"


async def test_several_servers_are_listed_beside_each_other():
    """A listing has the tools of all of them."""
    servers = [proxy_server(name, [TOOL]) for name in ("github", "gitlab")]
    async with memory_runtime(servers=servers) as ot:
        names = [tool["name"] for tool in (await ot.call("ot.tools", pattern=".search")).data]
        assert {"github.search", "gitlab.search"} <= set(names)
