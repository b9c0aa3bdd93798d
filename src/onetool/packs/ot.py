"""ot: what OneTool knows of itself, and of its own state."""

from typing import Any

from onetool.sdk import ErrorText, LogSpan, YamlList, YamlMap, get_config, publish, query_result
from onetool.sdk import check_deps as check_dependencies
from onetool.sdk import health as check_health
from onetool.sdk import reload as reload_configuration

pack = "ot"

CONNECTED = {True: "connected", False: "disconnected"}


def config() -> dict[str, Any]:
    """Show the aliases, snippets and servers that are configured.

    Returns:
        aliases (name and target), snippets (name and description), servers (names).

    Example:
        ot.config()
    """
    snippets = get_config("snippets")
    return YamlMap(
        aliases=get_config("aliases"),
        snippets={name: {"description": known["description"]} for name, known in snippets.items()},
        servers=list(get_config("servers")),
    )


def health() -> dict[str, Any]:
    """Check the parts of OneTool, and whether other MCP servers answer.

    Returns:
        version, python, cwd, registry (status and number of tools), proxy (status of each server).

    Example:
        ot.health()
    """
    found = check_health()
    servers = {name: CONNECTED[answers] for name, answers in found.servers.items()}
    return YamlMap(
        version=found.version,
        python=found.python,
        cwd=found.cwd,
        registry={"status": "degraded" if found.failures else "ok", "tool_count": found.tool_count},
        proxy={
            "status": "ok" if all(found.servers.values()) else "degraded",
            "server_count": len(servers),
            "servers": servers,
        },
    )


def reload() -> str:
    """Read all settings, secrets, prompts and packs again; a broken file leaves everything as it was.

    Returns:
        `OK: Configuration reloaded`, or an error that names the file and line.

    Example:
        ot.reload()
    """
    try:
        reload_configuration()
    except ValueError as error:
        return ErrorText(f"Error: {error}")
    return "OK: Configuration reloaded"


def notify(topic: str, message: str) -> str:
    """Leave a message for a person: it is appended to the file that is configured for the topic.

    Args:
        topic: What it is about, such as `notes`; the first configured pattern that matches decides.
        message: The text.

    Returns:
        `OK: <topic> -> <file>`, or `SKIP: no matching topic`.

    Example:
        ot.notify(topic="notes", message="Remember to review PR #123")
    """
    try:
        file = publish(topic, message)
    except OSError as error:
        return ErrorText(f"Error: Cannot write the note: {error.strerror or error}")
    return f"OK: {topic} -> {file}" if file else "SKIP: no matching topic"


def check(tool: str | None = None) -> list[dict[str, Any]]:
    """Check the programs, libraries and secrets that tools need.

    Args:
        tool: A pack or a tool, for only that one.

    Returns:
        For each need: tool, kind (cli, lib or secret), name, status (ok or missing), version, install.

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
            found = query_result(handle, offset=offset, limit=limit, search=search, fuzzy=fuzzy, path=path)
        except LookupError as error:  # a state of things, not a mistake of the caller's
            return ErrorText(f"Error: {error.args[0]} Run the command again to get a new one.")
    return YamlMap(found)


def version() -> str:
    """Tell the version of OneTool.

    Example:
        ot.version()
    """
    return check_health().version
