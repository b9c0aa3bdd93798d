"""`onetool packs, snippets, check, stats, help`: the tools of the `ot` pack as commands."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import click

from onetool.domain.calls.call import ToolResult
from onetool.domain.calls.caller import Caller
from onetool.domain.calls.effect import Effect
from onetool.domain.text.json_text import pretty
from onetool.domain.tools.help_text import BROWSE
from onetool.domain.usage.summary import PERIODS
from onetool.runtime.runtime import Runtime

from .call import EXIT_CODES
from .command import json_option, mask, print_json, show_skipped_packs, stdout, use_json, with_runtime
from .completion import pack_names, tool_names

Printer = Callable[[Any], None]
BROWSE_COMMANDS = "Browse with: onetool tools list, or onetool packs."
OVERVIEW = """\
# OneTool

## Find tools
- onetool tools list: all tools
- onetool search read file: the tools that fit these words
- onetool packs: groups of tools
- onetool snippets: named code templates
- onetool help fs.read_file: one tool, with its arguments and an example

## Use tools
- onetool call fs.list_dir path=.: call one tool
- onetool run 'time.now()["iso"]': run code that calls tools
- onetool ask 'Which files are here?': let a model call tools

## Add tools
- onetool import FILE: an OpenAPI document, MCP servers, a pack or a bundle
- onetool servers add NAME -- COMMAND: an MCP server
- onetool scaffold pack NAME: a Python file whose functions are tools

## Connect and check
- onetool mcp install CLIENT: let an MCP client use these tools
- onetool serve: the web UI and the REST API
- onetool secrets set NAME: store a key that tools need
- onetool doctor: find problems

All commands: onetool --help. Options of one: onetool COMMAND --help."""
full_option = click.option("--full", is_flag=True, help="Show all details.")


@click.command()
@click.argument("words", nargs=-1, metavar="[PATTERN]")
@full_option
@json_option
def packs(words: tuple[str, ...], full: bool, as_json: bool) -> None:
    """List packs. With PATTERN, only packs whose names contain it.

    `onetool scaffold pack NAME` creates a pack.

    \b
    Examples:
      onetool packs
      onetool packs fs --full
    """
    if len(words) > 1:
        raise click.UsageError("Pass one PATTERN. To create a pack: onetool scaffold pack NAME")
    result = _call("ot.packs", shows_skipped=True, pattern="".join(words), info="full" if full else "min")
    _print(result, as_json, lambda entries: _print_table(entries, ("name", "source", "tool_count")))


@click.command()
@click.argument("pattern", default="")
@full_option
@json_option
def snippets(pattern: str, full: bool, as_json: bool) -> None:
    """List snippets. With PATTERN, only snippets whose names or descriptions contain it.

    \b
    Examples:
      onetool snippets
      onetool snippets research --full
    """
    result = _call("ot.snippets", pattern=pattern, info="full" if full else "min")
    _print(result, as_json, _print_snippets)


@click.command()
@click.argument("name", required=False, shell_complete=pack_names)
@json_option
def check(name: str | None, as_json: bool) -> None:
    """Check tool requirements: programs, libraries and secrets.

    NAME is a pack or a tool. With NAME, exits with code 1 if a requirement is missing.

    \b
    Examples:
      onetool check
      onetool check web
    """
    needs = _call("ot.check", tool=name)
    columns = ("status", "tool", "kind", "name", "version", "install")
    _print(needs, as_json, lambda entries: _print_table(grouped(entries), columns, "No requirements."))
    if name and any(need["status"] != "ok" for need in needs):
        raise SystemExit(1)


@click.command()
@click.option(
    "--period",
    default="all",
    type=click.Choice(list(PERIODS)),
    help="Period to report on.",
    show_default=True,
)
@click.option("--tool", help="Report only on this tool.", metavar="NAME")
@click.option("--output", help="Also write an HTML report.", metavar="FILE.html")
@json_option
def stats(period: str, tool: str | None, output: str | None, as_json: bool) -> None:
    """Show tool calls, success rates, and the tokens and time saved.

    \b
    Examples:
      onetool stats
      onetool stats --period week --output usage.html
    """
    _print(_call("ot.stats", period=period, tool=tool, output=output), as_json, _print_stats)


@click.command("help")
@click.argument("query", nargs=-1, shell_complete=tool_names)
@click.option(
    "--info",
    default="min",
    type=click.Choice(["list", "min", "full"]),
    help="Level of detail.",
    show_default=True,
)
def show_help(query: tuple[str, ...], info: str) -> None:
    """Show help for a tool, a pack, a $snippet or an alias. Any other QUERY is treated as a search.

    \b
    Examples:
      onetool help
      onetool help fs.read_file
      onetool help read a file
    """
    text = " ".join(query).strip()
    if not text and info != "list":
        click.echo(OVERVIEW, file=stdout())
        return
    found = str(_call("ot.help", query=text, info=info))
    click.echo(mask(found.replace(BROWSE, BROWSE_COMMANDS)), file=stdout())


def _call(name: str, *, shows_skipped: bool = False, **args: Any) -> Any:
    """Call a tool and exit if it fails.

    shows_skipped: whether packs that were not loaded are named on stderr.
    """
    caller = Caller(interface="cli", default_effect=Effect.ALLOW)

    async def call(runtime: Runtime) -> ToolResult:
        result = await runtime.call_tool(name, args, caller, "cli")
        if shows_skipped:
            show_skipped_packs(runtime, caller, str(args.get("pattern", "")))
        return result

    result = with_runtime(call)
    if result.error is not None:
        message = result.error.message.removeprefix("Error: ").removeprefix("ValueError: ")
        click.echo(f"Error: {message}", err=True)
        raise SystemExit(EXIT_CODES[result.meta.reason] if result.meta.reason else 1)
    return result.data


def _print(result: Any, as_json: bool, print_result: Printer) -> None:
    if isinstance(result, str) and not as_json:
        click.echo(mask(result), file=stdout())
    elif use_json(as_json):
        print_json(result)
    else:
        print_result(result)


def _print_table(entries: Sequence[Mapping[str, Any]], keys: Sequence[str], if_empty: str = "None.") -> None:
    from .tables import table

    if not entries:
        click.echo(if_empty, file=stdout())
        return
    rows = [tuple(_format_cell(entry[key]) for key in keys) for entry in entries]
    table([key.replace("_", " ").upper() for key in keys], rows)


def grouped(needs: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Return each requirement once, with all the tools that have it: `db.query` or `db (3 tools)`."""
    tools: dict[tuple[Any, ...], list[str]] = {}
    for need in needs:
        tools.setdefault(tuple((key, value) for key, value in need.items() if key != "tool"), []).append(
            need["tool"]
        )
    return [{"tool": _name_tools(names), **dict(need)} for need, names in tools.items()]


def _name_tools(names: Sequence[str]) -> str:
    if len(names) == 1:
        return names[0]
    packs = dict.fromkeys(name.partition(".")[0] for name in names)
    return f"{', '.join(packs)} ({len(names)} tools)"


def _print_snippets(lines: Sequence[str]) -> None:
    entries = [dict(zip(("name", "description"), line.split(": ", 1), strict=True)) for line in lines]
    _print_table(
        entries, ("name", "description"), "No snippets. Define them under snippets: in onetool.yaml."
    )


def _print_stats(stats: Mapping[str, Any]) -> None:
    from .tables import table

    totals = [(key.replace("_", " "), _format_cell(value)) for key, value in stats.items() if key != "tools"]
    table(("METRIC", "VALUE"), totals)
    click.echo(file=stdout())
    rows = [{"tool": name, **usage} for name, usage in stats["tools"].items()]
    _print_table(rows, ("tool", "calls", "success_rate", "mean_ms", "max_ms"), "No calls yet.")


def _format_cell(value: Any) -> str:
    return (
        value if isinstance(value, str) else f"{value:,}" if isinstance(value, int | float) else pretty(value)
    )
