"""A small MCP server over stdio: `python -m onetool.testing.mcp_server PACK_FILE`."""

import asyncio
import json
import sys
from pathlib import Path
from typing import Any

from onetool.domain.text.json_text import encode
from onetool.domain.tools.provider_formats import to_provider
from onetool.domain.tools.wire_names import names_by_wire, wire_names
from onetool.version import __version__

from .runtime import MemoryClient, memory_runtime

PROTOCOL = "2025-06-18"
METHOD_NOT_FOUND = -32601


async def serve(file: Path) -> None:
    """Serve JSON messages, one per line, until stdin is closed."""
    async with memory_runtime(files=[file]) as ot:
        while line := await asyncio.to_thread(sys.stdin.readline):
            message = json.loads(line)
            if "id" in message:
                response = await _respond(ot, message["method"], message.get("params") or {})
                sys.stdout.write(encode({"jsonrpc": "2.0", "id": message["id"], **response}).decode() + "\n")
                sys.stdout.flush()


async def _respond(ot: MemoryClient, method: str, params: dict[str, Any]) -> dict[str, Any]:
    specs = [tool.spec async for tool in ot.runtime.state.catalog.tools() if tool.spec.origin == "pack"]
    if method == "initialize":
        info = {"name": "onetool-testing", "version": __version__}
        version = params.get("protocolVersion", PROTOCOL)
        return {"result": {"protocolVersion": version, "capabilities": {"tools": {}}, "serverInfo": info}}
    if method == "tools/list":
        return {"result": {"tools": to_provider("mcp", specs)}}
    if method == "tools/call":
        names = names_by_wire(wire_names(spec.name for spec in specs))
        result = await ot.call(names.get(params["name"], params["name"]), **params.get("arguments", {}))
        data = result.error.message if result.error else result.data
        content = [{"type": "text", "text": data if isinstance(data, str) else encode(data).decode()}]
        return {"result": {"content": content, "isError": not result.ok}}
    if method == "ping":
        return {"result": {}}
    return {"error": {"code": METHOD_NOT_FOUND, "message": f"Method not found: {method}"}}


if __name__ == "__main__":
    asyncio.run(serve(Path(sys.argv[1])))
