"""`onetool packs, snippets, check, stats, help`: what the `ot` pack answers, on a terminal as tables."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import click

from onetool.domain.caller import Caller, grant
from onetool.domain.json_text import pretty
from onetool.domain.usage import PERIODS

from .completion import pack_names, tool_names
from .session import answers, json_option, masked, wants_json, with_runtime, write_json
from .tools import EXIT

Show = Callable[[Any], None]
full_option = click.option("--full", is_flag=True, help="Show all that is known.")


@click.command()
@click.argument("pattern", default="")
@full_option
@json_option
def packs(pattern: str, full: bool, as_json: bool) -> None:
    """List the packs whose names contain PATTERN, or all.

    \b
    Examples:
      onetool packs
      onetool packs fs --full
    """
    shown = _ask("ot.packs", pattern=pattern, info="full" if full else "min")
    _answer(shown, as_json, lambda found: _table(found, ("name", "source", "tool_count")))


@click.command()
@click.argument("pattern", default="")
@full_option
@json_option
def snippets(pattern: str, full: bool, as_json: bool) -> None:
    """List the snippets whose name or description contains PATTERN, or all.

    \b
    Examples:
      onetool snippets
      onetool snippets research --full
    """
    shown = _ask("ot.snippets", pattern=pattern, info="full" if full else "min")
    _answer(shown, as_json, _snippet_table)


@click.command()
@click.argument("name", required=False, shell_complete=pack_names)
@json_option
def check(name: str | None, as_json: bool) -> None:
    """Check what tools need: programs, libraries, secrets. NAME is a pack or a tool.

    With a NAME it exits with 1 when something is missing.

    \b
    Examples:
      onetool check
      onetool check web
    """
    found = _ask("ot.check", tool=name)
    columns = ("status", "tool", "kind", "name", "version", "install")
    _answer(found, as_json, lambda needs: _table(needs, columns, "Nothing is needed: all tools can run."))
    if name and any(need["status"] != "ok" for need in found):
        raise SystemExit(1)


@click.command()
@click.option(
    "--period", default="all", type=click.Choice(list(PERIODS)), help="How far back.  [default: all]"
)
@click.option("--tool", help="Only this tool.", metavar="NAME")
@click.option("--output", help="Write an HTML report too.", metavar="FILE.html")
@json_option
def stats(period: str, tool: str | None, output: str | None, as_json: bool) -> None:
    """Show how often tools were called, how well that went, and what was saved.

    \b
    Examples:
      onetool stats
      onetool stats --period week --output usage.html
    """
    _answer(_ask("ot.stats", period=period, tool=tool, output=output), as_json, _stats_tables)


@click.command("help")
@click.argument("query", nargs=-1, shell_complete=tool_names)
@click.option("--info", default="min", type=click.Choice(["list", "min", "full"]), help="How much to show.")
def show_help(query: tuple[str, ...], info: str) -> None:
    """Explain a tool, a pack, a $snippet or an alias; anything else is searched for.

    \b
    Examples:
      onetool help
      onetool help fs.read_file
      onetool help read a file
    """
    click.echo(masked(str(_ask("ot.help", query=" ".join(query), info=info))), file=answers())


def _ask(name: str, **args: Any) -> Any:
    """Call a tool as the person at the keyboard; end the command when it fails."""
    caller = Caller(door="cli", approve=grant)
    result = with_runtime(lambda runtime: runtime.call(runtime.new_call(name, args, "cli"), caller))
    if result.error is not None:
        said = result.error.message.removeprefix("Error: ").removeprefix("ValueError: ")
        click.echo(f"Error: {said}", err=True)
        raise SystemExit(EXIT[result.meta.reason] if result.meta.reason else 1)
    return result.data


def _answer(found: Any, as_json: bool, show: Show) -> None:
    if isinstance(found, str) and not as_json:
        click.echo(masked(found), file=answers())
    elif wants_json(as_json):
        write_json(found)
    else:
        show(found)


def _table(found: Sequence[Mapping[str, Any]], keys: Sequence[str], otherwise: str = "None.") -> None:
    from .screen import table

    if not found:
        click.echo(otherwise, file=answers())
        return
    rows = [tuple(_cell(entry[key]) for key in keys) for entry in found]
    table([key.replace("_", " ").upper() for key in keys], rows)


def _snippet_table(found: Sequence[str]) -> None:
    entries = [dict(zip(("name", "description"), text.split(": ", 1), strict=True)) for text in found]
    _table(entries, ("name", "description"), "No snippets. Define some under snippets: in onetool.yaml.")


def _stats_tables(figures: Mapping[str, Any]) -> None:
    from .screen import table

    facts = [(key.replace("_", " "), _cell(value)) for key, value in figures.items() if key != "tools"]
    table(("FIGURE", "VALUE"), facts)
    click.echo(file=answers())
    rows = [{"tool": name, **known} for name, known in figures["tools"].items()]
    _table(rows, ("tool", "calls", "success_rate", "mean_ms", "max_ms"), "No calls yet.")


def _cell(value: Any) -> str:
    return (
        value if isinstance(value, str) else f"{value:,}" if isinstance(value, int | float) else pretty(value)
    )
