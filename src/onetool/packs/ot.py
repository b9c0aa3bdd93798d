"""ot: what OneTool knows of itself."""

from typing import Any

from onetool.sdk import ErrorText, LogSpan, query_result
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


def result(
    handle: str,
    *,
    offset: int = 1,
    limit: int = 100,
    search: str | None = None,
    fuzzy: bool = False,
    path: str | None = None,
) -> Any:
    """Read lines of a large output that was stored aside.

    Args:
        handle: The handle that the summary named.
        offset: The first line to return, from 1 on.
        limit: How many lines to return at most.
        search: Only lines that match this regular expression; offset and limit count these.
        fuzzy: Take search as words that may be misspelt, best matches first.
        path: For JSON, the part to read, such as items.0.name.

    Returns:
        lines, total_lines (of the whole output), returned, offset, has_more.

    Example:
        ot.result(handle="abc123", search="error", limit=20)
    """
    asked = {"handle": handle, "offset": offset, "limit": limit} | ({"search": search} if search else {})
    with LogSpan("ot.result", **asked):
        if offset < 1:
            raise ValueError(f"offset must be >= 1 (1-indexed), got {offset}")
        if limit < 1:
            raise ValueError(f"limit must be >= 1, got {limit}")
        try:
            return query_result(handle, offset=offset, limit=limit, search=search, fuzzy=fuzzy, path=path)
        except LookupError as error:  # a state of things, not a mistake of the caller's
            return ErrorText(f"Error: {error.args[0]} Run the command again to get a new one.")


async def version() -> str:
    """Tell the version of OneTool.

    Example:
        ot.version()
    """
    return (await check_health()).version
