"""What tools cost a model's context, in tokens: when a session starts, and in each answer of a search."""

import json
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import count
from typing import Any

from benchmarks.figures import Figure, Table
from benchmarks.given_data import SERVERS, TASKS, Absent, read
from benchmarks.options import Options
from benchmarks.token_counts import Tokenizer
from onetool.domain import Registry
from onetool.domain.manifest import Definition, merge
from onetool.runtime import Runtime
from onetool.settings.schema import Server
from onetool.sources.mcp_servers.offers import Offers, nothing_found
from onetool.sources.snapshot import Fixed, Snapshot
from onetool.testing import memory_runtime

TITLE = "Context"
FEW, MANY = 50, 10_000
EXPOSED = ("run", "search", "all")
LIMIT = 5
NOTE = (
    "What a client is told before it has asked anything, instructions and tools, beside the definitions of "
    "the same tools as their servers give them; the last row repeats the servers under other names. "
    "Counted: {}."
)


async def measure(options: Options) -> list[Table]:
    """Tokens at the start, and of answers."""
    try:
        servers, tasks = read(options, SERVERS, TASKS)
    except Absent as absent:
        return [absent.table(TITLE)]
    tokenizer = Tokenizer()
    return [await first_told(servers, tokenizer), await found(servers, tasks, tokenizer)]


async def first_told(servers: Any, tokenizer: Tokenizer) -> Table:
    """What a client is told before it has asked anything."""
    known = sum(len(server["tools"]) for server in servers)
    columns = ("tools", *(f"`{expose}` / native MCP" for expose in EXPOSED))
    table = Table(TITLE, NOTE.format(tokenizer.name), columns)
    for size in (FEW, known, MANY):
        offered = _sized(servers, size)
        native = tokenizer.count(_native(offered))
        async with memory_runtime(sources=[_source(offered)]) as ot:
            told = [tokenizer.count(await told_by(ot.runtime, expose)) for expose in EXPOSED]
        table.rows.append((f"{size:,}", *(Figure(native, one, "tokens") for one in told)))
    return table


async def found(servers: Any, tasks: Any, tokenizer: Tokenizer) -> Table:
    """What `find_tools` answers to the steps of all tasks, and to whole tasks."""
    from mcp.client.client import Client

    from onetool.doors.mcp.server import create_server

    asked = {
        "steps": [step for task in tasks for step in task["steps"]],
        "whole tasks": [task["question"] for task in tasks],
    }
    known = sum(len(server["tools"]) for server in servers)
    offered = _sized(servers, known)
    native = tokenizer.count(_native(offered))
    note = f"An answer of `find_tools` with {LIMIT} of {known} tools, beside the definitions of all."
    table = Table("Context of a search", note, ("queries", "median", "p95", "most"))
    async with (
        memory_runtime(sources=[_source(offered)]) as ot,
        Client(create_server(ot.runtime, "search")) as client,
    ):
        for what, queries in asked.items():
            counts = sorted([tokenizer.count(await _answer(client, query)) for query in queries])
            places = (math.ceil(part * len(counts)) - 1 for part in (0.5, 0.95, 1))
            figures = (Figure(native, counts[place], "tokens") for place in places)
            table.rows.append((f"{len(queries)} {what}", *figures))
    return table


async def _answer(client: Any, query: str) -> str:
    answer = await client.call_tool("find_tools", {"query": query, "limit": LIMIT})
    if answer.is_error:
        raise SystemExit(f"find_tools failed for {query!r}: {answer.content}")
    return "".join(part.text for part in answer.content)


async def told_by(runtime: Runtime, expose: str) -> str:
    """All that the official client learns of our server when it connects."""
    from mcp.client.client import Client

    from onetool.doors.mcp.server import create_server

    async with Client(create_server(runtime, expose)) as client:
        page = await client.list_tools()
        tools = list(page.tools)
        while page.next_cursor:
            page = await client.list_tools(cursor=page.next_cursor)
            tools += page.tools
        return f"{client.instructions or ''}\n{_as_json(tools)}"


def _native(offered: Sequence[tuple[str, list[Any]]]) -> str:
    return _as_json(_definition(tool) for _, tools in offered for tool in tools)


def _as_json(tools: Iterable[Any]) -> str:
    """The list as it is on the wire; what clients make of it for their models differs little."""
    listed = [tool.model_dump(mode="json", by_alias=True, exclude_none=True) for tool in tools]
    return json.dumps(listed, ensure_ascii=False, separators=(",", ":"))


def _definition(tool: Mapping[str, Any]) -> Any:
    import mcp_types as types

    return types.Tool(name=tool["name"], description=tool["description"], input_schema=tool["inputSchema"])


def _sized(servers: Any, size: int) -> list[tuple[str, list[Any]]]:
    """The first tools of these servers; when there are too few, of more servers like them."""
    taken = list[tuple[str, list[Any]]]()
    for name, tools in _endless(servers):
        taken.append((name, tools[:size]))
        size -= len(tools)
        if size <= 0:
            break
    return taken


def _endless(servers: Any) -> Iterator[tuple[str, list[Any]]]:
    for copy in count(1):
        for server in servers:
            yield server["server"] + (f"_{copy}" if copy > 1 else ""), server["tools"]


def _source(offered: Sequence[tuple[str, list[Any]]]) -> Snapshot:
    """The tools as OneTool offers those of a server that it has just listed."""
    registry = Registry()
    for name, tools in offered:
        listed = merge(None, map(_listed, tools), 0)
        offers = Offers(name, Server(command=name), nothing_found, lambda tool: _never_called)
        for tool in offers.of(listed).registry.list():
            registry.register(tool)
    return Snapshot(Fixed("listed servers", registry))


def _listed(tool: Mapping[str, Any]) -> Definition:
    return Definition(
        name=tool["name"], description=tool["description"] or "", input_schema=tool["inputSchema"]
    )


async def _never_called(args: Mapping[str, Any], invocation: Any) -> Any:
    raise AssertionError
