"""`onetool call`, also as `onetool tools invoke`: call a tool."""

from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple

import click

from onetool.domain.calls.call import ToolResult
from onetool.domain.calls.caller import Caller
from onetool.domain.calls.effect import Effect
from onetool.domain.content.parts import media_in
from onetool.domain.errors import Reason
from onetool.domain.tools.tool import ToolSpec
from onetool.runtime.runtime import Runtime

from .call_args import CallArgs, parse_words, print_usage
from .command import json_option, print_json, use_json, with_runtime
from .completion import tool_names
from .media import content_json, save_media, save_option
from .question_prompt import asked_on_terminal
from .tools_toggle import enable_command

EXIT_CODES = MappingProxyType(dict.fromkeys(Reason, 1))
"""Exit code for each reason; 2 is reserved for usage errors."""

allow_option = click.option(
    "--tool-allow",
    "allow",
    metavar="NAMES",
    callback=lambda _context, _parameter, text: None if text is None else _split_names(text),
    help="Use only these tools (comma-separated).",
)


class _CalledTool(NamedTuple):
    """What a call returned, and the tool that was called."""

    result: ToolResult
    content: dict[str, Any]
    spec: ToolSpec | None


@click.command()
@click.argument("name", metavar="TOOL", shell_complete=tool_names)
@click.argument("words", nargs=-1, metavar="[KEY=VALUE]...")
@click.option("--args", "text", default="{}", help="Arguments as a JSON object.", metavar="JSON")
@allow_option
@save_option
@json_option
def call(
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
    Forms of arguments:
      key=value   a text, or what the tool's schema says: a number, a boolean, JSON
      key:=JSON   JSON, such as limit:=5 or tags:='["a", "b"]'
      key:=@FILE  the JSON in a file; - is stdin
      key@FILE    the text of a file; - is stdin
      @FILE       a JSON object with arguments; the other forms replace its members

    \b
    Examples:
      onetool call time.now
      onetool call fs.list_dir path=. recursive=true
      onetool call fs.list_dir --args '{"path": ".", "recursive": true}'
      onetool call browser.screenshot --save pictures
    """
    args = parse_words(text, words)
    finished = with_runtime(lambda runtime: _call(runtime, name, args, cli_caller(allow)))
    result = finished.result
    if use_json(as_json):
        print_json(result.to_json() | finished.content)
    else:
        from .tables import show_result

        show_result(result)
    if result.meta.reason is Reason.BAD_ARGS and finished.spec:
        print_usage(finished.spec, args)
    if result.meta.reason is Reason.DISABLED and finished.spec and (command := enable_command(finished.spec)):
        click.echo(f"Enable it with: {command}", err=True)
    save_media(media_in(result.parts), result.meta.tool, directory)
    if result.meta.reason is not None:
        raise SystemExit(EXIT_CODES[result.meta.reason])


def cli_caller(allowed: frozenset[str] | None = None) -> Caller:
    """Return the caller for commands. Typing a command approves the call."""
    return Caller(interface="cli", allowed=allowed, default_effect=Effect.ALLOW)


async def _call(runtime: Runtime, name: str, given: CallArgs, caller: Caller) -> _CalledTool:
    tool = await runtime.state.catalog.find(name)
    spec = tool.spec if tool else None
    args = given.convert(spec)
    async with asked_on_terminal(runtime, caller, name, args) as caller:
        result = await runtime.call_tool(name, args, caller, "cli")
    return _CalledTool(result, await content_json(runtime, result.parts, result.meta.tool), spec)


def _split_names(text: str) -> frozenset[str]:
    return frozenset(name.strip() for name in text.split(",") if name.strip())
