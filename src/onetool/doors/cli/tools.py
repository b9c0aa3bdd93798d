"""`onetool tools`: list, info, invoke, export."""

import json
from types import MappingProxyType
from typing import Any

import click

from onetool.domain.call import ToolResult
from onetool.domain.caller import Caller, grant
from onetool.domain.errors import Reason
from onetool.domain.json_text import is_json
from onetool.domain.nearest import did_you_mean
from onetool.domain.provider_formats import FORMATS, to_provider
from onetool.domain.texts import cut
from onetool.domain.tool import ToolSpec
from onetool.runtime import Runtime

from .completion import tool_names
from .session import json_option, wants_json, with_runtime, write_json

EXIT = MappingProxyType(dict.fromkeys(Reason, 1))
"""Exit code for each reason; 2 is kept for commands that were typed wrongly."""

EXAMPLE = """What the tool gets is written as JSON, in quotes: --args '{"path": ".", "most": 3}'"""
LONGEST_SHOWN = 80

allow_option = click.option(
    "--tool-allow",
    "allow",
    metavar="NAMES",
    callback=lambda _context, _parameter, text: None if text is None else _names(text),
    help="Only these tools, separated by commas.",
)


@click.group()
def tools() -> None:
    """List, describe, call and export tools."""


@tools.command("list")
@click.argument("pattern", default="")
@allow_option
@json_option
def list_tools(pattern: str, allow: frozenset[str] | None, as_json: bool) -> None:
    """List the tools whose names contain PATTERN, or all.

    \b
    Examples:
      onetool tools list
      onetool tools list fs. --json
    """
    specs = with_runtime(lambda runtime: runtime.catalog.specs(_person(allow)))
    specs = [spec for spec in specs if pattern.lower() in spec.name.lower()]
    if wants_json(as_json):
        write_json([spec.summary() for spec in specs])
    else:
        from .screen import tool_table

        tool_table(specs)


@tools.command()
@click.argument("name", shell_complete=tool_names)
@json_option
def info(name: str, as_json: bool) -> None:
    """Show the schema and everything else that is known of a tool.

    \b
    Example:
      onetool tools info fs.read_file
    """
    spec, known = with_runtime(lambda runtime: _find(runtime, name))
    if spec is None:
        click.echo(f"Tool not found: {name!r}.{did_you_mean(name, known)}", err=True)
        raise SystemExit(1)
    if wants_json(as_json):
        write_json(spec.details())
    else:
        from .screen import tool_page

        tool_page(spec)


@tools.command()
@click.argument("name", shell_complete=tool_names)
@click.argument("words", nargs=-1, metavar="")
@click.option("--args", "text", default="{}", help="The arguments as a JSON object.", metavar="JSON")
@allow_option
@json_option
def invoke(name: str, words: tuple[str, ...], text: str, allow: frozenset[str] | None, as_json: bool) -> None:
    """Call a tool.

    \b
    Examples:
      onetool tools invoke time.now
      onetool tools invoke fs.read_file --args '{"path": "README.md"}'
    """
    if words:
        raise click.UsageError(f"{words[0]!r} is one word too many. {EXAMPLE}")
    args = _parse(text)
    result = with_runtime(lambda runtime: runtime.call(runtime.new_call(name, args, "cli"), _person(allow)))
    _answer(result, as_json)


@tools.command()
@click.option(
    "--format", "provider", required=True, metavar="PROVIDER", help=f"One of: {', '.join(FORMATS)}."
)
@allow_option
def export(provider: str, allow: frozenset[str] | None) -> None:
    """Write the tool definitions in a provider's format, as JSON.

    \b
    Example:
      onetool tools export --format openai --tool-allow time.now,fs.read_file
    """
    if provider not in FORMATS:
        meant = did_you_mean(provider, FORMATS)
        raise click.BadParameter(f"{provider!r} is not supported.{meant} Supported: {', '.join(FORMATS)}.")
    specs = with_runtime(lambda runtime: runtime.catalog.specs(_person()))
    write_json(to_provider(provider, specs, allowed=allow))


def _person(allowed: frozenset[str] | None = None) -> Caller:
    """Whoever types a command has decided to run it."""
    return Caller(door="cli", allowed=allowed, approve=grant)


def _names(text: str) -> frozenset[str]:
    return frozenset(name.strip() for name in text.split(",") if name.strip())


async def _find(runtime: Runtime, name: str) -> tuple[ToolSpec | None, list[str]]:
    tool = await runtime.catalog.find(name)
    known = [] if tool else [spec.name for spec in await runtime.catalog.specs(_person())]
    return tool.spec if tool else None, known


def _parse(text: str) -> dict[str, Any]:
    try:
        args = json.loads(text)
    except (ValueError, RecursionError) as error:
        message = f"not valid JSON: {cut(text, LONGEST_SHOWN)!r}: {error}. {EXAMPLE}"
        raise click.BadParameter(message, param_hint="--args") from None
    if not is_json(args):
        raise click.BadParameter(
            "not valid JSON: a number is out of range, or it is too deep", param_hint="--args"
        )
    if not isinstance(args, dict):
        raise click.BadParameter(f"a JSON object is needed. {EXAMPLE}", param_hint="--args")
    return args


def _answer(result: ToolResult, as_json: bool) -> None:
    if wants_json(as_json):
        write_json(result.to_json())
    else:
        from .screen import show_result

        show_result(result)
    if result.meta.reason is not None:
        raise SystemExit(EXIT[result.meta.reason])
