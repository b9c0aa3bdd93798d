"""Tools stored in the bundle of a runtime, without an interface."""

from typing import Any

from onetool.domain.bundles.bundle import StoredTool
from onetool.runtime.runtime import Runtime
from support.rest_process import code_tool


async def store_tools(runtime: Runtime, pack: str, tools: dict[str, dict[str, Any]]) -> list[StoredTool]:
    """Store tools in a new bundle, as version 1. Return them."""
    bundles, id = runtime.state.bundles, runtime.new_id()
    await bundles.put_bundle(id, {"slug": pack})
    return [await bundles.put_tool((id, name.replace("_", "-"), "1"), body) for name, body in tools.items()]


async def store_programs(runtime: Runtime, pack: str, **programs: str) -> list[StoredTool]:
    """Store programs without arguments as tools of a new bundle."""
    return await store_tools(runtime, pack, {name: code_tool(code) for name, code in programs.items()})
