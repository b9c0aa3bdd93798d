"""`onetool resources, read, prompts, prompt`: what MCP servers offer besides tools."""

import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import click

from onetool.domain.calls.call import ToolResult
from onetool.domain.calls.caller import Caller
from onetool.domain.calls.effect import Effect
from onetool.domain.content.parts import media_in
from onetool.domain.servers.server_item import ItemKind
from onetool.domain.text.strings import first_line
from onetool.runtime.runtime import Runtime

from .call import EXIT_CODES
from .command import json_option, mask, print_json, stdout, terminal_safe, use_json, with_runtime
from .completion import server_names
from .media import content_json, save_media, save_option
from .server_selection import select_servers

CALLER = Caller(interface="cli", default_effect=Effect.ALLOW)
Views = list[dict[str, Any]]
server_option = click.option(
    "--server", metavar="NAME", shell_complete=server_names, help="List only those of this server."
)


@click.command()
@click.argument("query", default="")
@server_option
@json_option
def resources(query: str, server: str | None, as_json: bool) -> None:
    """List the resources of MCP servers, and templates of their URIs. With QUERY, only those that contain it.

    \b
    Examples:
      onetool resources
      onetool resources readme --server files
    """
    found = _list({"resources": "resource", "templates": "template"}, query, server)
    if use_json(as_json):
        print_json(found)
        return
    rows = [
        (entry.get("uri") or entry["uriTemplate"], entry.get("mimeType", ""), _summary(entry))
        for entry in [*found["resources"], *found["templates"]]
    ]
    _print_rows(("URI", "TYPE", "DESCRIPTION"), rows, "No resources.")


@click.command()
@click.argument("query", default="")
@server_option
@json_option
def prompts(query: str, server: str | None, as_json: bool) -> None:
    """List the prompts of MCP servers. With QUERY, only those that contain it.

    \b
    Examples:
      onetool prompts
      onetool prompts review --json
    """
    found = _list({"prompts": "prompt"}, query, server)
    if use_json(as_json):
        print_json(found)
        return
    rows = [(entry["name"], _arguments(entry), _summary(entry)) for entry in found["prompts"]]
    _print_rows(("PROMPT", "ARGUMENTS", "DESCRIPTION"), rows, "No prompts.")


@click.command()
@click.argument("uri")
@save_option
@json_option
def read(uri: str, directory: Path | None, as_json: bool) -> None:
    """Read a resource of an MCP server. URI is one that `onetool resources` lists, or from a template.

    Of an image, a sound or a file, the type, size and handle are printed; --save writes them to files.

    \b
    Examples:
      onetool read ot.files+file:///README.md
      onetool read ot.browser+page://screenshot --save pictures
    """

    async def read_resource(runtime: Runtime) -> tuple[ToolResult, dict[str, Any]]:
        result = await runtime.call_tool("ot.read", {"uri": uri}, CALLER, "cli")
        return result, await content_json(runtime, result.parts, result.meta.tool)

    result, content = with_runtime(read_resource)
    if as_json:
        print_json(result.to_json() | content)
    elif result.error is None:
        values = result.data if isinstance(result.data, list) else [result.data]
        _print_texts(values)
    _finish(result, directory, is_printed=as_json)


@click.command()
@click.argument("name")
@click.argument("arguments", nargs=-1, metavar="[KEY=VALUE]...")
@save_option
@json_option
def prompt(name: str, arguments: tuple[str, ...], directory: Path | None, as_json: bool) -> None:
    """Print the messages of a prompt of an MCP server. NAME is one that `onetool prompts` lists.

    \b
    Example:
      onetool prompt review.summary language=en
    """
    args = {"name": name, "arguments": _parse_arguments(arguments)}

    async def get_prompt(runtime: Runtime) -> tuple[ToolResult, dict[str, Any]]:
        result = await runtime.call_tool("ot.prompt", args, CALLER, "cli")
        return result, await runtime.state.model_output.render_prompt(result)

    result, messages = with_runtime(get_prompt)
    if as_json:
        print_json(result.to_json() if result.error else messages)
    elif result.error is None:
        _print_texts([f"{message['role']}: {message['content']}" for message in result.data])
    _finish(result, directory, is_printed=as_json)


def _list(kinds: Mapping[str, ItemKind], query: str, server: str | None) -> dict[str, Views]:
    """Return the definitions of each kind. Name servers that cannot be listed on stderr."""
    if server is not None:
        select_servers([server])

    async def list_items(runtime: Runtime) -> dict[str, Views]:
        state, found = runtime.state, dict[str, Views]()
        for name, kind in kinds.items():
            items = await state.contents.items(kind, CALLER, server)
            found[name] = [item.to_view() for item in items if item.matches(query)]
        for name, source in state.servers.items():
            if server in (None, name) and (reason := source.status().reason):
                click.echo(mask(f"Missing: {' and '.join(kinds)} of {name} ({reason})."), err=True)
        return found

    return with_runtime(list_items)


def _parse_arguments(words: Sequence[str]) -> dict[str, str]:
    arguments = {}
    for word in words:
        key, separator, value = word.partition("=")
        if not separator or not key:
            raise click.UsageError(f"Unexpected argument {word!r}. Pass arguments as KEY=VALUE.")
        arguments[key] = value
    return arguments


def _finish(result: ToolResult, directory: Path | None, *, is_printed: bool) -> None:
    """Save media, and exit if the call failed."""
    save_media(media_in(result.parts), result.meta.tool, directory)
    if result.error is not None:
        if not is_printed:
            click.echo(terminal_safe(f"Error: {result.error.message}", sys.stderr), err=True)
        raise SystemExit(EXIT_CODES[result.meta.reason] if result.meta.reason else 1)


def _print_texts(values: Sequence[Any]) -> None:
    """Print texts, and one line for each of other values, such as media."""
    for value in values:
        click.echo(terminal_safe(str(value), stdout()), file=stdout())


def _print_rows(columns: Sequence[str], rows: Sequence[tuple[str, ...]], if_empty: str) -> None:
    from .tables import table

    if rows:
        table(columns, rows)
    else:
        click.echo(if_empty, file=stdout())


def _summary(entry: Mapping[str, Any]) -> str:
    texts = (entry.get(key) for key in ("description", "title", "name"))
    return first_line(next((text for text in texts if text), ""))


def _arguments(entry: Mapping[str, Any]) -> str:
    return ", ".join(
        argument["name"] if argument["required"] else f"{argument['name']}?"
        for argument in entry["arguments"]
    )
