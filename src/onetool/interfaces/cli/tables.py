"""Tables and pages for terminals."""

import re
from collections.abc import Sequence
from typing import Any

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from onetool.domain.calls.call import ToolResult
from onetool.domain.content.parts import media_in
from onetool.domain.text.json_text import pretty
from onetool.domain.text.strings import printable
from onetool.domain.text.yaml_text import to_yaml
from onetool.domain.tools.tool import ToolSpec

from .command import mask, stdout
from .tools_toggle import enable_command

NUMBER = re.compile(r"[\d.,]+|-")


def _console() -> Console:
    return Console(file=stdout())


def table(columns: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """Print an aligned table with a highlighted first column."""
    grid = Table(box=None, pad_edge=False, header_style="dim")
    for index, column in enumerate(columns):
        is_number = bool(rows) and all(NUMBER.fullmatch(row[index]) for row in rows)
        grid.add_column(
            column,
            style="bold cyan" if index == 0 else "",
            no_wrap=index == 0,
            justify="right" if is_number else "left",
        )
    for row in rows:
        grid.add_row(*(escape(mask(cell)) for cell in row))
    _console().print(grid)


def tool_table(specs: Sequence[ToolSpec]) -> None:
    """Print tools with their parameters and the first line of their descriptions."""
    if not specs:
        _console().print("No tools.", style="dim")
        return
    rows = [(spec.name, _parameters(spec), _summary(spec)) for spec in specs]
    table(("TOOL", "PARAMETERS", "DESCRIPTION"), rows)


def disabled_table(specs: Sequence[ToolSpec]) -> None:
    """Print disabled tools, why they are disabled, and the commands that enable them."""
    if not specs:
        _console().print("No disabled tools.", style="dim")
        return
    rows = [(spec.name, spec.disabled_reason, enable_command(spec)) for spec in specs]
    table(("TOOL", "REASON", "ENABLE WITH"), rows)


def tool_page(spec: ToolSpec) -> None:
    """Print everything about one tool."""
    console = _console()
    console.print(escape(spec.name), style="bold cyan")
    console.print(escape(mask(spec.description)), highlight=False)
    console.print()
    if properties := spec.input_schema.get("properties"):
        required = spec.input_schema.get("required", ())
        rows = [_parameter_row(name, schema, name in required) for name, schema in properties.items()]
        table(("PARAMETER", "TYPE", "DEFAULT", "DESCRIPTION"), rows)
        console.print()
    hidden = ("name", "description", "inputSchema", "outputSchema")
    details = {
        key: value for key, value in spec.details().items() if key not in hidden and value is not False
    }
    grid = Table.grid(padding=(0, 2))
    for key, value in details.items():
        grid.add_row(f"[dim]{key}[/dim]", escape(mask(_format_value(value))))
    console.print(grid)


def show_result(result: ToolResult) -> None:
    """Print the value or the error of a call."""
    console = _console()
    duration = f"[dim]{result.meta.duration_ms:.1f} ms[/dim]"
    if result.error is None:
        console.print(f"[green]ok[/green] {escape(result.meta.tool)} {duration}", highlight=False)
        console.print(printable(to_yaml(result.data)), markup=False, highlight=False, soft_wrap=True)
    else:
        code = result.error.code
        console.print(f"[red]{code}[/red] {escape(result.meta.tool)} {duration}", highlight=False)
        console.print(escape(printable(result.error.message)), highlight=False)
    for media in media_in(result.parts):
        if media not in result.media:  # beside the value
            console.print(str(media), markup=False, highlight=False, soft_wrap=True)


def _summary(spec: ToolSpec) -> str:
    """Return the first line of the description; a mark if the tool is not read-only."""
    line = spec.description.partition("\n")[0]
    return line if spec.read_only else f"[{spec.access}] {line}"


def _parameters(spec: ToolSpec) -> str:
    required = spec.input_schema.get("required", ())
    return ", ".join(
        name if name in required else f"{name}?" for name in spec.input_schema.get("properties", ())
    )


def _parameter_row(name: str, schema: Any, is_required: bool) -> tuple[str, str, str, str]:
    schema = schema if isinstance(schema, dict) else {}
    default = "required" if is_required else pretty(schema["default"]) if "default" in schema else ""
    choices = schema.get("enum")
    type_ = " | ".join(map(pretty, choices)) if isinstance(choices, list) else str(schema.get("type", "any"))
    return name, type_, default, str(schema.get("description", ""))


def _format_value(value: Any) -> str:
    if isinstance(value, list | tuple):
        return ", ".join(map(str, value))
    return "yes" if value is True else str(value)
