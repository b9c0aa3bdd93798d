"""ot: resources and prompts of MCP servers."""

from typing import Any

from onetool.sdk import YamlList, tool
from onetool.sdk.contents import get_prompt, list_contents, read_resource

pack = "ot"

TIMEOUT_S = 60.0
"""As for tools of servers: the server may have to start, and a large text takes seconds to scan."""


def resources(query: str = "", server: str | None = None) -> list[dict[str, Any]]:
    """List the resources and resource templates of MCP servers.

    Args:
        query: List only those whose URI, name or description contains this text (case-insensitive).
        server: List only those of this server.

    Returns:
        For each: uri or template (replace its {names}), name, and if known description and type.

    Example:
        ot.resources(query="readme")
    """
    listed = [*list_contents("resource", server), *list_contents("template", server)]
    return YamlList(_entry(item.to_view()) for item in listed if item.matches(query))


def prompts(query: str = "", server: str | None = None) -> list[dict[str, Any]]:
    """List the prompts of MCP servers.

    Args:
        query: List only those whose name or description contains this text (case-insensitive).
        server: List only those of this server.

    Returns:
        For each: name, description, arguments (`?` marks optional ones).

    Example:
        ot.prompts()
    """
    return YamlList(
        {
            "name": view["name"],
            "description": view.get("description") or view.get("title", ""),
            "arguments": [_argument(argument) for argument in view["arguments"]],
        }
        for item in list_contents("prompt", server)
        if item.matches(query) and (view := item.to_view())
    )


@tool(timeout=TIMEOUT_S)
def read(uri: str) -> Any:
    """Read a resource of an MCP server.

    Args:
        uri: The URI as ot.resources() lists it, or from a template.

    Returns:
        Its text or media; a list if it has several contents.

    Example:
        ot.read(uri="ot.files+file:///README.md")
    """
    return read_resource(uri)


@tool(timeout=TIMEOUT_S)
def prompt(name: str, arguments: dict[str, str] | None = None, **args: str) -> Any:
    """Return the messages of a prompt of an MCP server.

    Args:
        name: The name as ot.prompts() lists it.
        arguments: Arguments of the prompt whose names are not possible here, such as `name`.
        args: The arguments of the prompt.

    Returns:
        For each message: role and content.

    Example:
        ot.prompt(name="review.summary", language="en")
    """
    return get_prompt(name, {**args, **(arguments or {})})


def _entry(view: dict[str, Any]) -> dict[str, str]:
    fields = {"uri": "uri", "uriTemplate": "template", "name": "name", "description": "description"}
    known = {**fields, "mimeType": "type"}
    return {name: view[key] for key, name in known.items() if view.get(key)}


def _argument(argument: dict[str, Any]) -> str:
    return f"{argument['name']}{'' if argument['required'] else '?'}"
