"""`onetool tools`: list, describe, call and export tools."""

import shlex
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import click

from onetool.domain.calls.caller import Caller
from onetool.domain.text.strings import pluralize
from onetool.domain.text.suggestions import did_you_mean
from onetool.domain.tools.provider_formats import FORMATS, to_provider
from onetool.domain.tools.tool import ToolSpec, any_matches
from onetool.runtime.runtime import Runtime

from .call import allow_option, call, cli_caller
from .code_input import read_code
from .command import json_option, mask, print_json, show_skipped_packs, stdout, use_json, with_runtime
from .completion import tool_names
from .groups import CommandGroup
from .tools_toggle import disable, enable, enable_command

if TYPE_CHECKING:
    from .tools_save import SavedTool


@click.group(cls=CommandGroup)
def tools() -> None:
    """List, describe, call, save, export, enable and disable tools."""


tools.add_command(call, "invoke")
tools.add_command(enable)
tools.add_command(disable)


@tools.command("list")
@click.argument("pattern", default="")
@click.option("--disabled", is_flag=True, help="List only disabled tools, and why they are disabled.")
@allow_option
@json_option
def list_tools(pattern: str, disabled: bool, allow: frozenset[str] | None, as_json: bool) -> None:
    """List tools. With PATTERN, only tools whose names contain it, or match it if it has wildcards.

    \b
    Examples:
      onetool tools list
      onetool tools list fs. --json
      onetool tools list 'github.delete_*'
      onetool tools list --disabled
    """
    enabled_specs, disabled_specs = (
        [spec for spec in specs if _matches(spec, pattern)]
        for specs in _list_specs(cli_caller(allow), pattern)
    )
    specs = disabled_specs if disabled else enabled_specs
    if use_json(as_json):
        print_json([_listed_fields(spec) for spec in specs])
        return
    from .tables import disabled_table, tool_table

    if disabled:
        disabled_table(specs)
    else:
        tool_table(specs)
        if disabled_specs:
            words = " ".join(filter(None, ["onetool tools list", shlex.quote(pattern) if pattern else ""]))
            count = pluralize(len(disabled_specs), "disabled tool")
            click.echo(f"{count} not listed: {words} --disabled", err=True)


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
        if command := enable_command(spec):
            click.echo(f"Enable it with: {command}", err=True)


@tools.command()
@click.argument("name")
@click.argument("code", required=False)
@click.option(
    "-f", "--file", "file", type=click.Path(exists=True, dir_okay=False), help="Read CODE from FILE."
)
@click.option("--from", "record", metavar="ID", help="Use the code of a recorded run; last: the newest.")
@click.option(
    "--param",
    "parameters",
    multiple=True,
    metavar="NAME[=VALUE]",
    help="Make a value of the code, or a name that it does not define, a parameter.",
)
@click.option("--description", default="", help="What the tool does.")
@click.option("--version", default="", help="Version to create. Default: the next number.")
@json_option
def save(
    name: str,
    code: str | None,
    *,
    file: str | None,
    record: str | None,
    parameters: tuple[str, ...],
    description: str,
    version: str,
    as_json: bool,
) -> None:
    """Store CODE as a tool that calls other tools. NAME is its bundle and its own name.

    `-` reads CODE from stdin. The bundle is created if it does not exist. If the tool exists with other code,
    a new version of it is stored.

    \b
    Examples:
      onetool tools save flows.hello 'tools.echo(message="Hello, Ada")' --param 'text=Hello, Ada'
      onetool tools save flows.report -f report.py --param city=Paris --description 'Report on a city.'
      onetool tools save flows.report --from last
    """
    from .tools_save import recorded_code, save_tool

    if sum(item is not None for item in (code, file, record)) != 1:
        example = "onetool tools save flows.now 'time.now()'"
        raise click.UsageError(
            f"Pass one of CODE, --file and --from. Example: {example}\n"
            f"The code that you ran last: onetool tools save {name} --from last"
        )
    text = read_code(code, file) if record is None else ""

    async def store(runtime: Runtime) -> "SavedTool":
        source = text if record is None else await recorded_code(runtime, record)
        return await save_tool(
            runtime, name, source, parameters=parameters, description=description, version=version
        )

    saved = with_runtime(store)
    if as_json:
        print_json({"name": saved.name, "version": saved.version, "isNew": saved.is_new})
    else:
        click.echo(str(saved), file=stdout())


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
    specs, _ = _list_specs(cli_caller())
    print_json(to_provider(provider, specs, allowed=allow))


def _matches(spec: ToolSpec, pattern: str) -> bool:
    """Whether the name of a tool contains a pattern, or matches one with wildcards. Ignores case."""
    pattern, *names = (text.lower().replace("-", "_") for text in (pattern, *spec.names))
    if any(char in pattern for char in "*?["):
        return any_matches([pattern], names)
    return pattern in names[0]


def _listed_fields(spec: ToolSpec) -> dict[str, Any]:
    return spec.summary() | ({} if spec.enabled else {"disabledReason": spec.disabled_reason})


def _list_specs(caller: Caller, pattern: str = "") -> tuple[list[ToolSpec], list[ToolSpec]]:
    """Return the enabled and the disabled tools of all sources.

    Name the servers and packs whose tools are missing on stderr.
    """

    async def list_specs(runtime: Runtime) -> tuple[list[ToolSpec], list[ToolSpec]]:
        catalog = runtime.state.catalog
        specs = await catalog.specs()
        for name, reason in catalog.unlisted.items():
            click.echo(mask(f"Missing: the tools of {name} ({reason})."), err=True)
        show_skipped_packs(runtime, caller, pattern)
        visible = [spec for spec in specs if catalog.policy.is_visible(replace(spec, enabled=True), caller)]
        return [spec for spec in visible if spec.enabled], [spec for spec in visible if not spec.enabled]

    return with_runtime(list_specs)


async def _find_spec(runtime: Runtime, name: str) -> tuple[ToolSpec | None, list[str]]:
    tool = await runtime.state.catalog.find(name)
    names = [] if tool else [spec.name for spec in await runtime.state.catalog.specs(cli_caller())]
    return tool.spec if tool else None, names
