"""ot: what OneTool knows of itself."""

from typing import Any

from onetool.sdk import health as check_health

pack = "ot"


async def health() -> dict[str, Any]:
    """Check the parts of OneTool.

    Returns:
        version, python, cwd, registry (status and number of tools), proxy (status of other MCP servers).

    Example:
        ot.health()
    """
    found = await check_health()
    return {
        "version": found.version,
        "python": found.python,
        "cwd": found.cwd,
        "registry": {"status": "degraded" if found.failures else "ok", "tool_count": found.tool_count},
        "proxy": {"status": "ok", "server_count": 0, "servers": {}},
    }
