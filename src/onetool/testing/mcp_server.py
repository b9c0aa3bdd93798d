"""A small MCP server on stdin and stdout: `python -m onetool.testing.mcp_server PACK_FILE`."""

import asyncio
import json
import sys
from pathlib import Path
from typing import Any

from onetool.domain.json_text import encode
from onetool.domain.provider_formats import to_provider
from onetool.domain.wire_names import names_by_wire, wire_names
from onetool.version import __version__

from .runtime import MemoryTools, memory_runtime

PROTOCOL = "2025-06-18"
METHOD_NOT_FOUND = -32601


async def serve(file: Path) -> None:
    """Answer one JSON message a line until the input ends."""
    async with memory_runtime(files=[file]) as ot:
        while line := await asyncio.to_thread(sys.stdin.readline):
            message = json.loads(line)
            if "id" in message:
                answer = await _answer(ot, message["method"], message.get("params") or {})
                sys.stdout.write(encode({"jsonrpc": "2.0", "id": message["id"], **answer}).decode() + "\n")
                sys.stdout.flush()


async def _answer(ot: MemoryTools, method: str, params: dict[str, Any]) -> dict[str, Any]:
    specs = [tool.spec async for tool in ot.runtime.catalog.tools() if tool.spec.origin == "pack"]
    if method == "initialize":
        about = {"name": "onetool-testing", "version": __version__}
        version = params.get("protocolVersion", PROTOCOL)
        return {"result": {"protocolVersion": version, "capabilities": {"tools": {}}, "serverInfo": about}}
    if method == "tools/list":
        return {"result": {"tools": to_provider("mcp", specs)}}
    if method == "tools/call":
        names = names_by_wire(wire_names(spec.name for spec in specs))
        result = await ot.call(names.get(params["name"], params["name"]), **params.get("arguments", {}))
        shown = result.error.message if result.error else result.data
        content = [{"type": "text", "text": shown if isinstance(shown, str) else encode(shown).decode()}]
        return {"result": {"content": content, "isError": not result.ok}}
    if method == "ping":
        return {"result": {}}
    return {"error": {"code": METHOD_NOT_FOUND, "message": f"Method not found: {method}"}}


if __name__ == "__main__":
    asyncio.run(serve(Path(sys.argv[1])))
