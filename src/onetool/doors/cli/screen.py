"""What a person sees on a terminal."""

import re
from collections.abc import Sequence
from typing import Any

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from onetool.domain.call import ToolResult
from onetool.domain.json_text import pretty
from onetool.domain.texts import printable
from onetool.domain.tool import ToolSpec
from onetool.domain.yaml_text import to_yaml

from .session import answers, masked

NUMBER = re.compile(r"[\d.,]+|-")


def _console() -> Console:
    return Console(file=answers())


def table(columns: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """Draw an aligned table; the first column stands out."""
    drawn = Table(box=None, pad_edge=False, header_style="dim")
    for index, column in enumerate(columns):
        is_number = bool(rows) and all(NUMBER.fullmatch(row[index]) for row in rows)
        drawn.add_column(
            column,
            style="bold cyan" if index == 0 else "",
            no_wrap=index == 0,
            justify="right" if is_number else "left",
        )
    for row in rows:
        drawn.add_row(*(escape(masked(cell)) for cell in row))
    _console().print(drawn)


def tool_table(specs: Sequence[ToolSpec]) -> None:
    """List tools with their parameters and the first line of their descriptions."""
    if not specs:
        _console().print("No tools.", style="dim")
        return
    rows = [(spec.name, _parameters(spec), spec.description.partition("\n")[0]) for spec in specs]
    table(("TOOL", "PARAMETERS", "DESCRIPTION"), rows)


def tool_page(spec: ToolSpec) -> None:
    """Show one tool with all that is known of it."""
    console = _console()
    console.print(escape(spec.name), style="bold cyan")
    console.print(escape(masked(spec.description)), highlight=False)
    console.print()
    if properties := spec.input_schema.get("properties"):
        required = spec.input_schema.get("required", ())
        rows = [_parameter_row(name, schema, name in required) for name, schema in properties.items()]
        table(("PARAMETER", "TYPE", "DEFAULT", "DESCRIPTION"), rows)
        console.print()
    hidden = ("name", "description", "inputSchema", "outputSchema")
    facts = {key: value for key, value in spec.details().items() if key not in hidden and value is not False}
    drawn = Table.grid(padding=(0, 2))
    for key, value in facts.items():
        drawn.add_row(f"[dim]{key}[/dim]", escape(masked(_plain(value))))
    console.print(drawn)


def show_result(answer: ToolResult) -> None:
    """Show what a call returned, or why it failed."""
    console = _console()
    took = f"[dim]{answer.meta.duration_ms:.1f} ms[/dim]"
    if answer.error is None:
        console.print(f"[green]ok[/green] {escape(answer.meta.tool)} {took}", highlight=False)
        console.print(printable(to_yaml(answer.data)), markup=False, highlight=False, soft_wrap=True)
        return
    console.print(f"[red]{answer.error.code}[/red] {escape(answer.meta.tool)} {took}", highlight=False)
    console.print(escape(printable(answer.error.message)), highlight=False)


def _parameters(spec: ToolSpec) -> str:
    required = spec.input_schema.get("required", ())
    return ", ".join(
        name if name in required else f"{name}?" for name in spec.input_schema.get("properties", ())
    )


def _parameter_row(name: str, schema: Any, is_required: bool) -> tuple[str, str, str, str]:
    known = schema if isinstance(schema, dict) else {}
    default = "required" if is_required else pretty(known["default"]) if "default" in known else ""
    choices = known.get("enum")
    type_ = " | ".join(map(pretty, choices)) if isinstance(choices, list) else str(known.get("type", "any"))
    return name, type_, default, str(known.get("description", ""))


def _plain(value: Any) -> str:
    if isinstance(value, list | tuple):
        return ", ".join(map(str, value))
    return "yes" if value is True else str(value)
