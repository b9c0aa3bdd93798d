"""`onetool tools`: list, describe, call and export tools."""

import json
from pathlib import Path
from types import MappingProxyType
from typing import Any

import click

from onetool.domain.calls.call import ToolResult
from onetool.domain.calls.caller import Caller
from onetool.domain.calls.effect import Effect
from onetool.domain.content.parts import media_in
from onetool.domain.errors import Reason
from onetool.domain.text.json_text import describe_invalid_json, is_json
from onetool.domain.text.suggestions import did_you_mean
from onetool.domain.tools.provider_formats import FORMATS, to_provider
from onetool.domain.tools.tool import ToolSpec
from onetool.runtime.runtime import Runtime

from .command import json_option, mask, print_json, use_json, with_runtime
from .completion import tool_names
from .media import content_json, save_media, save_option
from .question_prompt import asked_on_terminal

EXIT_CODES = MappingProxyType(dict.fromkeys(Reason, 1))
"""Exit code for each reason; 2 is reserved for usage errors."""

EXAMPLE = """Pass arguments as a quoted JSON object: --args '{"path": ".", "limit": 3}'"""

allow_option = click.option(
    "--tool-allow",
    "allow",
    metavar="NAMES",
    callback=lambda _context, _parameter, text: None if text is None else _split_names(text),
    help="Use only these tools (comma-separated).",
)


@click.group()
def tools() -> None:
    """List, describe, call and export tools."""


@tools.command("list")
@click.argument("pattern", default="")
@allow_option
@json_option
def list_tools(pattern: str, allow: frozenset[str] | None, as_json: bool) -> None:
    """List tools. With PATTERN, only tools whose names contain it.

    \b
    Examples:
      onetool tools list
      onetool tools list fs. --json
    """
    specs = [spec for spec in _list_specs(_cli_caller(allow)) if pattern.lower() in spec.name.lower()]
    if use_json(as_json):
        print_json([spec.summary() for spec in specs])
    else:
        from .tables import tool_table

        tool_table(specs)


@tools.command()
@click.argument("name", shell_complete=tool_names)
@json_option
def info(name: str, as_json: bool) -> None:
    """Show a tool's schema and metadata.

    \b
    Example:
      onetool tools info fs.read_file
    """
    spec, names = with_runtime(lambda runtime: _find_spec(runtime, name))
    if spec is None:
        click.echo(f"Tool not found: {name!r}.{did_you_mean(name, names)}", err=True)
        raise SystemExit(1)
    if use_json(as_json):
        print_json(spec.details())
    else:
        from .tables import tool_page

        tool_page(spec)


@tools.command()
@click.argument("name", shell_complete=tool_names)
@click.argument("words", nargs=-1, metavar="")
@click.option("--args", "text", default="{}", help="Arguments as a JSON object.", metavar="JSON")
@allow_option
@save_option
@json_option
def invoke(
    name: str,
    words: tuple[str, ...],
    text: str,
    *,
    allow: frozenset[str] | None,
    directory: Path | None,
    as_json: bool,
) -> None:
    """Call a tool.

    \b
    Examples:
      onetool tools invoke time.now
      onetool tools invoke fs.read_file --args '{"path": "README.md"}'
      onetool tools invoke browser.screenshot --save pictures
    """
    if words:
        raise click.UsageError(f"Unexpected argument {words[0]!r}. {EXAMPLE}")
    args = _parse_args(text)
    result, content = with_runtime(lambda runtime: _invoke(runtime, name, args, _cli_caller(allow)))
    if use_json(as_json):
        print_json(result.to_json() | content)
    else:
        from .tables import show_result

        show_result(result)
    save_media(media_in(result.parts), result.meta.tool, directory)
    if result.meta.reason is not None:
        raise SystemExit(EXIT_CODES[result.meta.reason])


@tools.command()
@click.option(
    "--format",
    "provider",
    required=True,
    metavar="FORMAT",
    help=f"Output format: {', '.join(FORMATS)}.",
)
@allow_option
def export(provider: str, allow: frozenset[str] | None) -> None:
    """Print tool definitions as JSON, in the format of OpenAI, Ollama, Gemini, Anthropic or MCP.

    \b
    Example:
      onetool tools export --format openai --tool-allow time.now,fs.read_file
    """
    if provider not in FORMATS:
        suggestion = did_you_mean(provider, FORMATS)
        raise click.BadParameter(
            f"{provider!r} is not supported.{suggestion} Supported: {', '.join(FORMATS)}."
        )
    specs = _list_specs(_cli_caller())
    print_json(to_provider(provider, specs, allowed=allow))


def _list_specs(caller: Caller) -> list[ToolSpec]:
    """Return the tools of all sources. Name the servers whose tools are missing on stderr."""

    async def list_specs(runtime: Runtime) -> list[ToolSpec]:
        specs = await runtime.state.catalog.specs(caller)
        for name, reason in runtime.state.catalog.unlisted.items():
            click.echo(mask(f"Missing: the tools of {name} ({reason})."), err=True)
        return specs

    return with_runtime(list_specs)


def _cli_caller(allowed: frozenset[str] | None = None) -> Caller:
    """Return the caller for commands. Typing a command approves the call."""
    return Caller(interface="cli", allowed=allowed, default_effect=Effect.ALLOW)


def _split_names(text: str) -> frozenset[str]:
    return frozenset(name.strip() for name in text.split(",") if name.strip())


async def _invoke(
    runtime: Runtime, name: str, args: dict[str, Any], caller: Caller
) -> tuple[ToolResult, dict[str, Any]]:
    async with asked_on_terminal(runtime, caller, name, args) as caller:
        result = await runtime.call_tool(name, args, caller, "cli")
    return result, await content_json(runtime, result.parts, result.meta.tool)


async def _find_spec(runtime: Runtime, name: str) -> tuple[ToolSpec | None, list[str]]:
    tool = await runtime.state.catalog.find(name)
    names = [] if tool else [spec.name for spec in await runtime.state.catalog.specs(_cli_caller())]
    return tool.spec if tool else None, names


def _parse_args(text: str) -> dict[str, Any]:
    try:
        args = json.loads(text)
    except (ValueError, RecursionError) as error:
        message = f"{describe_invalid_json(text, error)} {EXAMPLE}"
        raise click.BadParameter(message, param_hint="--args") from None
    if not is_json(args):
        raise click.BadParameter(
            "not valid JSON: a number is out of range, or the nesting is too deep.", param_hint="--args"
        )
    if not isinstance(args, dict):
        raise click.BadParameter(f"not a JSON object. {EXAMPLE}", param_hint="--args")
    return args
