"""Tokens of tool definitions at the start of a session and in search results."""

import json
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import count
from typing import Any

from benchmarks.figures import Figure, Table
from benchmarks.given_data import SERVERS, TASKS, MissingData, read
from benchmarks.options import Options
from benchmarks.token_counts import Tokenizer
from onetool.domain import Registry
from onetool.domain.servers.manifest import ServerTool, merge
from onetool.runtime.runtime import Runtime
from onetool.settings.server_schema import ServerSettings
from onetool.sources.mcp_servers.tool_factory import ToolFactory, no_findings
from onetool.sources.snapshot import SnapshotSource, StaticReader
from onetool.testing import memory_runtime

TITLE = "Context"
FEW, MANY = 50, 10_000
EXPOSED = ("run", "search", "all")
LIMIT = 5
NOTE = (
    "Instructions and tools that a client receives when it connects, compared with the native definitions of "
    "the same tools. The last row repeats the servers under other names. Unit: {}."
)


async def measure(options: Options) -> list[Table]:
    """Measure the tokens of the initial definitions and of search results."""
    try:
        servers, tasks = read(options, SERVERS, TASKS)
    except MissingData as missing:
        return [missing.table(TITLE)]
    tokenizer = Tokenizer()
    return [await initial_tokens(servers, tokenizer), await search_tokens(servers, tasks, tokenizer)]


async def initial_tokens(servers: Any, tokenizer: Tokenizer) -> Table:
    """Measure the text that a client receives when it connects."""
    total = sum(len(server["tools"]) for server in servers)
    columns = ("tools", *(f"`{expose}` / native MCP" for expose in EXPOSED))
    table = Table(TITLE, NOTE.format(tokenizer.name), columns)
    for size in (FEW, total, MANY):
        selected = _sized(servers, size)
        native = tokenizer.count(_native(selected))
        async with memory_runtime(sources=[_source(selected)]) as ot:
            counts = [tokenizer.count(await exposed_text(ot.runtime, expose)) for expose in EXPOSED]
        table.rows.append((f"{size:,}", *(Figure(native, tokens, "tokens") for tokens in counts)))
    return table


async def search_tokens(servers: Any, tasks: Any, tokenizer: Tokenizer) -> Table:
    """Measure the results of `find_tools` for steps of tasks and for whole tasks."""
    from mcp.client.client import Client

    from onetool.interfaces.mcp.server import create_server

    queries_by_kind = {
        "steps": [step for task in tasks for step in task["steps"]],
        "whole tasks": [task["question"] for task in tasks],
    }
    total = sum(len(server["tools"]) for server in servers)
    selected = _sized(servers, total)
    native = tokenizer.count(_native(selected))
    note = f"Results of `find_tools` with {LIMIT} of {total} tools, compared with all definitions."
    table = Table("Context of a search", note, ("queries", "median", "p95", "maximum"))
    async with (
        memory_runtime(sources=[_source(selected)]) as ot,
        Client(create_server(ot.runtime, "search")) as client,
    ):
        for kind, queries in queries_by_kind.items():
            counts = sorted([tokenizer.count(await _find_tools(client, query)) for query in queries])
            positions = (math.ceil(part * len(counts)) - 1 for part in (0.5, 0.95, 1))
            figures = (Figure(native, counts[position], "tokens") for position in positions)
            table.rows.append((f"{len(queries)} {kind}", *figures))
    return table


async def _find_tools(client: Any, query: str) -> str:
    result = await client.call_tool("find_tools", {"query": query, "limit": LIMIT})
    if result.is_error:
        raise SystemExit(f"find_tools failed for {query!r}: {result.content}")
    return "".join(part.text for part in result.content)


async def exposed_text(runtime: Runtime, expose: str) -> str:
    """Return the instructions and tools that the official client receives."""
    from mcp.client.client import Client

    from onetool.interfaces.mcp.server import create_server

    async with Client(create_server(runtime, expose)) as client:
        page = await client.list_tools()
        tools = list(page.tools)
        while page.next_cursor:
            page = await client.list_tools(cursor=page.next_cursor)
            tools += page.tools
        return f"{client.instructions or ''}\n{_as_json(tools)}"


def _native(selected: Sequence[tuple[str, list[Any]]]) -> str:
    return _as_json(_definition(tool) for _, tools in selected for tool in tools)


def _as_json(tools: Iterable[Any]) -> str:
    """Return the list as sent over the wire; clients convert it with little difference."""
    dumped = [tool.model_dump(mode="json", by_alias=True, exclude_none=True) for tool in tools]
    return json.dumps(dumped, ensure_ascii=False, separators=(",", ":"))


def _definition(tool: Mapping[str, Any]) -> Any:
    import mcp_types as types

    return types.Tool(name=tool["name"], description=tool["description"], input_schema=tool["inputSchema"])


def _sized(servers: Any, size: int) -> list[tuple[str, list[Any]]]:
    """Return the first tools of the servers, repeating the servers under other names if necessary."""
    chosen = list[tuple[str, list[Any]]]()
    for name, tools in _endless(servers):
        chosen.append((name, tools[:size]))
        size -= len(tools)
        if size <= 0:
            break
    return chosen


def _endless(servers: Any) -> Iterator[tuple[str, list[Any]]]:
    for copy in count(1):
        for server in servers:
            yield server["server"] + (f"_{copy}" if copy > 1 else ""), server["tools"]


def _source(selected: Sequence[tuple[str, list[Any]]]) -> SnapshotSource:
    """Return a source with the tools as OneTool exposes them after a first listing."""
    registry = Registry()
    for name, tools in selected:
        manifest = merge(None, map(_server_tool, tools), 0)
        factory = ToolFactory(name, ServerSettings(command=name), no_findings, lambda tool: _never_called)
        for tool in factory.build(manifest).registry.list():
            registry.register(tool)
    return SnapshotSource(StaticReader("listed servers", registry))


def _server_tool(tool: Mapping[str, Any]) -> ServerTool:
    return ServerTool(
        name=tool["name"], description=tool["description"] or "", input_schema=tool["inputSchema"]
    )


async def _never_called(args: Mapping[str, Any], invocation: Any) -> Any:
    raise AssertionError
