"""ot: the configuration, health and state of OneTool."""

from typing import Any

from onetool.sdk import (
    ErrorText,
    LogSpan,
    YamlList,
    YamlMap,
    list_aliases,
    list_servers,
    list_snippets,
    publish,
    query_result,
)
from onetool.sdk import check_deps as check_dependencies
from onetool.sdk import health as check_health
from onetool.sdk import reload as reload_configuration
from onetool.sdk import version as get_version

pack = "ot"

CONNECTED = "connected"


def config() -> dict[str, Any]:
    """Show the configured aliases, snippets and servers.

    Returns:
        aliases (name and target), snippets (name and description), servers (names).

    Example:
        ot.config()
    """
    return YamlMap(
        aliases=list_aliases(),
        snippets={name: {"description": text} for name, text in list_snippets().items()},
        servers=list_servers(),
    )


def health() -> dict[str, Any]:
    """Check the health of OneTool and of the configured MCP servers.

    Returns:
        version, python, cwd, registry (status, number of tools, problems of packs if there are some), proxy
        (status of each server).

    Example:
        ot.health()
    """
    report = check_health()
    servers = {
        name: CONNECTED if server.state == CONNECTED else "disconnected"
        for name, server in report.servers.items()
    }
    reasons = {**report.failures, **report.skipped}
    problems = {"problems": reasons} if reasons else {}
    registry_status = "error" if report.skipped else "degraded" if report.failures else "ok"
    return YamlMap(
        version=report.version,
        python=report.python,
        cwd=report.cwd,
        registry={"status": registry_status, "tool_count": report.tool_count, **problems},
        proxy={
            "status": "ok" if set(servers.values()) <= {CONNECTED} else "degraded",
            "server_count": len(servers),
            "servers": servers,
        },
    )


def reload() -> str:
    """Reload settings, secrets, prompts and packs. If a file is invalid, nothing changes.

    Returns:
        `OK: Configuration reloaded`, with a line for each changed setting that needs a restart, or an error
        with the file and line.

    Example:
        ot.reload()
    """
    try:
        pending = reload_configuration()
    except ValueError as error:
        return ErrorText(f"Error: {error}")
    restarts = [f"{name} needs a restart: {active!r} stays active" for name, active in pending.items()]
    return "\n".join(["OK: Configuration reloaded", *restarts])


def notify(topic: str, message: str) -> str:
    """Leave a message for the user. It is appended to the file configured for the topic.

    Args:
        topic: The topic, such as `notes`. The first configured pattern that matches selects the file.
        message: The message text.

    Returns:
        `OK: <topic> -> <file>`, or `SKIP: no matching topic`.

    Example:
        ot.notify(topic="notes", message="Remember to review PR #123")
    """
    try:
        file = publish(topic, message)
    except OSError as error:
        return ErrorText(f"Error: Cannot write the message: {error.strerror or error}")
    return f"OK: {topic} -> {file}" if file else "SKIP: no matching topic"


def check(tool: str | None = None) -> list[dict[str, Any]]:
    """Check the programs, libraries and secrets that tools need.

    Args:
        tool: Check only this pack or tool.

    Returns:
        For each requirement: tool, kind (cli, lib or secret), name, status (ok or missing), version, install.

    Example:
        ot.check(tool="ripgrep")
    """
    return YamlList(check_dependencies(tool))


def result(
    handle: str,
    *,
    offset: int = 1,
    limit: int = 100,
    search: str | None = None,
    fuzzy: bool = False,
    path: str | None = None,
    column: int = 1,
    width: int | None = None,
) -> Any:
    """Read lines of a stored large output, or stored media.

    Args:
        handle: The handle from the summary, or of media, for which the other arguments do not matter.
        offset: First line to return, counted from 1.
        limit: Maximum number of lines.
        search: Return only lines that match this regular expression; offset and limit count matches.
        fuzzy: Treat search as words with possible typos; best matches first.
        path: For a dict, a list or JSON, the path of the part to read, such as items.0.name.
        column: First character of each line to return, counted from 1.
        width: Maximum number of characters of each line.

    Returns:
        lines, total_lines (of the whole output), returned, offset, has_more; with search, line_numbers too,
        to read what is around a match. Code gets all of it. A page that is too large to be shown ends with
        the calls that read on.

    Example:
        ot.result(handle="abc123", search="error", limit=20)
    """
    inputs = {"handle": handle, "offset": offset, "limit": limit} | ({"search": search} if search else {})
    with LogSpan("ot.result", **inputs):
        if offset < 1:
            raise ValueError(f"offset must be >= 1 (1-indexed), got {offset}")
        if limit < 1:
            raise ValueError(f"limit must be >= 1, got {limit}")
        if column < 1:
            raise ValueError(f"column must be >= 1 (1-indexed), got {column}")
        if width is not None and width < 1:
            raise ValueError(f"width must be >= 1, got {width}")
        query: dict[str, Any] = {"offset": offset, "limit": limit, "search": search, "fuzzy": fuzzy}
        try:
            return query_result(handle, **query, path=path, column=column, width=width)
        except LookupError as error:  # an expected situation, not an error in the call
            return ErrorText(f"Error: {error.args[0]} Run the command again to get a new handle.")


def version() -> str:
    """Return the OneTool version.

    Example:
        ot.version()
    """
    return get_version()
