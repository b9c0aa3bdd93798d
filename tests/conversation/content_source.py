"""A source with one tool that returns content, as the tool of an MCP server does."""

from typing import Any

from onetool.domain import Registry, Tool, ToolSpec
from onetool.ports import ToolSource
from onetool.sources.mcp_servers.results import read_content
from onetool.sources.snapshot import SnapshotSource, StaticReader


def content_source(
    *blocks: dict[str, Any], name: str = "s.tool", result: dict[str, Any] | None = None
) -> ToolSource:
    """Return a source whose tool returns these blocks, or a whole result of `tools/call`."""

    async def run(args: Any, invocation: Any) -> Any:
        return read_content(result or {"content": list(blocks)}, name, None, server="s")

    registry = Registry()
    registry.add(Tool(ToolSpec(name=name, description="", input_schema={}), run))
    return SnapshotSource(StaticReader(name, registry))
