"""`python -m benchmarks.context --data DIR`: what tools cost a model's context, in tokens.

DIR holds the definitions of real MCP servers and tasks for them (`livemcp`). Compared is what a client is
told at first - instructions and tools - by OneTool in each way of presenting them, and by the servers
themselves; then come the answers of searches. Fails when `run` costs over 400 tokens, or more for more tools.
"""

import argparse
import asyncio
import json
import math
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import count
from pathlib import Path
from typing import Any

from benchmarks.token_counts import Tokenizer, Tokens
from onetool.domain import Registry
from onetool.domain.manifest import Definition, merge
from onetool.runtime import Runtime
from onetool.settings.schema import Server
from onetool.sources.mcp_servers.offers import Offers, nothing_found
from onetool.sources.snapshot import Fixed, Snapshot
from onetool.testing import memory_runtime

FILES = ("livemcp/servers.json", "livemcp/tasks.json")
FEW, MANY = 50, 10_000
EXPOSED = ("run", "search", "all")
MOST_FIRST = 400
MOST_FOUND = 300
LIMIT = 5
WIDTH = 24


def main() -> int:
    """Print the tables and the verdict."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--data", type=Path, default=Path("../shared/data"), help="directory with livemcp")
    data: Path = parser.parse_args().data
    missing = [name for name in FILES if not (data / name).is_file()]
    if missing:
        print(f"skipped: {data / missing[0]} is not there")
        return 0
    servers, tasks = (json.loads((data / name).read_text("utf-8")) for name in FILES)
    tokenizer = Tokenizer()
    print(tokenizer.name)
    is_met = asyncio.run(first_told(servers, tokenizer))
    asyncio.run(found(servers, tasks, tokenizer))
    return 0 if is_met else 1


async def first_told(servers: Any, tokenizer: Tokenizer) -> bool:
    """Print what a client is told before it has asked anything; return whether `run` is small enough."""
    known = sum(len(server["tools"]) for server in servers)
    print("\ninstructions and tool list, by the number of tools behind them")
    print("".join(f"{title:>{WIDTH}}" for title in ("tools", "native definitions", *EXPOSED)))
    of_run = list[int]()
    for size in (FEW, known, MANY):
        offered = _sized(servers, size)
        native = tokenizer.count(_as_json(_definition(tool) for _, tools in offered for tool in tools))
        async with memory_runtime(sources=[_source(offered)]) as ot:
            told = [tokenizer.count(await _told(ot.runtime, expose)) for expose in EXPOSED]
        of_run.append(told[0].counted)
        print("".join(f"{cell!s:>{WIDTH}}" for cell in (f"{size:,}", native, *told)), flush=True)
    is_met = max(of_run) <= MOST_FIRST and len(set(of_run)) == 1
    shown = ", ".join(map(str, of_run))
    print(
        f"{'met' if is_met else 'OVER'}: run costs {shown}; at most {MOST_FIRST}, and no more for more tools"
    )
    return is_met


async def found(servers: Any, tasks: Any, tokenizer: Tokenizer) -> None:
    """Print what `find_tools` answers to the steps of all tasks, and to whole tasks."""
    from mcp.client.client import Client

    from onetool.doors.mcp.server import create_server

    asked = {
        "steps": [step for task in tasks for step in task["steps"]],
        "whole tasks": [task["question"] for task in tasks],
    }
    known = sum(len(server["tools"]) for server in servers)
    print(f"\nan answer of find_tools with {LIMIT} tools of {known}, which is that of ot.find")
    print("".join(f"{title:>{WIDTH}}" for title in ("queries", "median", "p95", "max", f"with all {LIMIT}")))
    async with (
        memory_runtime(sources=[_source(_sized(servers, known))]) as ot,
        Client(create_server(ot.runtime, "search")) as client,
    ):
        for what, queries in asked.items():
            texts = [await _answer(client, query) for query in queries]
            _print_answers(f"{len(queries)} {what}", texts, tokenizer)


def _print_answers(title: str, texts: Sequence[str], tokenizer: Tokenizer) -> None:
    counts = [tokenizer.count(text) for text in texts]
    whole = sum(len(text.splitlines()) == LIMIT for text in texts)
    shown = [_at(counts, part) for part in (0.5, 0.95, 1)]
    cells = "".join(f"{cell!s:>{WIDTH}}" for cell in (title, *shown, whole))
    over = sum(one.counted > MOST_FOUND for one in counts)
    print(f"{cells}  {f'OVER {MOST_FOUND}: {over}' if over else f'all within {MOST_FOUND}'}")


def _at(counts: Sequence[Tokens], part: float) -> Tokens:
    """The count that this part of all stays within, each way of counting by itself."""
    place = math.ceil(part * len(counts)) - 1
    return Tokens(*(sorted(each)[place] for each in zip(*counts, strict=True)))


async def _answer(client: Any, query: str) -> str:
    answer = await client.call_tool("find_tools", {"query": query, "limit": LIMIT})
    if answer.is_error:
        raise SystemExit(f"find_tools failed for {query!r}: {answer.content}")
    return "".join(part.text for part in answer.content)


async def _told(runtime: Runtime, expose: str) -> str:
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


if __name__ == "__main__":
    sys.exit(main())
