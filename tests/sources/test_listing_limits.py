"""Limits of listings and results: what is above them is cut off with a reason, the rest stays usable."""

import pytest

from onetool.domain.calls.caller import Caller
from onetool.domain.calls.effect import Effect
from onetool.sources.mcp_servers.paged_listing import MAX_LISTING_BYTES, read_listing
from sources.flooding_server import TRANSPORTS, open_client
from support.listed_server import ListedServer
from support.rest_in_process import serve_rest

pytestmark = pytest.mark.spec("MCP-65")
CALLER = Caller(interface="python", default_effect=Effect.ALLOW)


def nested(levels):
    value = {}
    for _ in range(levels - 1):
        value = {"x": value}
    return value


def reader(kind, *pages):
    """Return a function that reads pages of a list."""

    async def read_page(cursor):
        number = int(cursor or 0)
        following = {"nextCursor": str(number + 1)} if number + 1 < len(pages) else {}
        return {kind: pages[number], **following}

    return read_page


def named(count, start=0):
    return [{"name": f"n{number}"} for number in range(start, start + count)]


@pytest.mark.parametrize(("kind", "limit"), [("tools", 10_000), ("resources", 10_000), ("prompts", 1_000)])
async def test_items_above_the_limit_are_ignored(kind, limit):
    whole = await read_listing(reader(kind, named(limit - 1), named(1, limit - 1)), kind, limit)
    assert whole == (named(limit), [])
    cut = await read_listing(reader(kind, named(limit - 1), named(5, limit - 1), named(5)), kind, limit)
    assert cut == (named(limit), [f"the server lists more than {limit:,} {kind}; the rest is ignored"])


async def test_bytes_of_all_pages_are_limited():
    large = {"name": "x", "description": "x" * (MAX_LISTING_BYTES // 4 - 100)}
    pages = [[large | {"name": str(number)}] for number in range(6)]
    whole, cut = [await read_listing(reader("tools", *pages[:count]), "tools", 100) for count in (4, 6)]
    assert (len(whole.items), whole.problems) == (4, [])
    reason = "the list of tools has more than 67,108,864 bytes; the rest is ignored"
    assert (len(cut.items), cut.problems) == (4, [reason])


async def test_repeated_cursor_ends_the_listing():
    async def read_page(cursor):
        return {"tools": named(1), "nextCursor": "same"}

    assert len((await read_listing(read_page, "tools", 100)).items) == 2


async def test_invalid_definitions_affect_only_themselves(home):
    """Those without a name or schema, of other types or nested too deeply: health names the last one."""
    server = ListedServer(home)
    schema = {"type": "object"}
    deepest, deeper = (
        {"name": f"nested{levels}", "inputSchema": {"type": "object", "x": nested(levels)}}
        for levels in (98, 99)
    )
    server.list(
        *({"inputSchema": schema}, {"name": "none"}, {"name": "odd", "inputSchema": {"type": 7}}, 5),
        *(deeper, deepest, {"name": "ok", "inputSchema": schema}),
    )
    server.configure()
    async with server.open() as runtime, serve_rest(runtime) as rest:
        assert await runtime.state.servers.probe("s")
        assert (await runtime.call_tool("s.ok", {}, CALLER, "python")).ok
        tools = await runtime.state.servers["s"].pack("s")
        assert [tool.spec.name for tool in tools] == ["s.nested98", "s.ok"]
        (warning,) = (await rest.get("/health")).json()["servers"]["s"]["warnings"]
    assert warning == "ignored tools nested deeper than 100 levels: 'nested99'"
    skipped = "skipped invalid tool definitions: [None, 'none', 'odd', 5]"
    assert skipped in [record["message"] for record in home.log()]


@pytest.mark.parametrize("transport", TRANSPORTS)
async def test_nesting_of_results_is_limited(transport):
    """Also where no parser accepts it. The next call succeeds."""
    async with open_client(transport) as ot:
        assert (await ot.call("s.deep", levels=98)).ok
        for levels, shown in ((99, "result that is nested deeper than 100"), (500, "nested deeper than 200")):
            result = await ot.call("s.deep", levels=levels)
            assert (result.ok, result.meta.reason) == (False, "too_large_out")
            assert shown in result.error.message
        assert (await ot.call("s.echo", text="x")).data == "x"


async def test_parts_of_a_result_are_limited():
    """A result that is cut off is an error, which has the first parts."""
    async with open_client() as ot:
        assert len((await ot.call("s.parts", count=1_000)).data) == 1_000 * 3 - 2
        result = await ot.call("s.parts", count=1_001)
        assert not result.ok
        assert "a result of more than 1,000 parts. The rest is cut off." in result.error.message
        assert len(result.content.parts) == 1 + 1_000
