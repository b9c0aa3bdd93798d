"""What a person sees on a terminal."""

from collections.abc import Sequence
from typing import Any

from rich.console import Console
from rich.markup import escape
from rich.syntax import Syntax
from rich.table import Table

from onetool.domain.call import ToolResult
from onetool.domain.json_text import pretty
from onetool.domain.tool import ToolSpec

THEME = "ansi_dark"


def table(columns: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """Draw an aligned table; the first column stands out."""
    drawn = Table(box=None, pad_edge=False, header_style="dim")
    for index, column in enumerate(columns):
        drawn.add_column(column, style="bold cyan" if index == 0 else "", no_wrap=index == 0)
    for row in rows:
        drawn.add_row(*map(escape, row))
    Console().print(drawn)


def tool_table(specs: Sequence[ToolSpec]) -> None:
    """List tools with their parameters and the first line of their descriptions."""
    if not specs:
        Console().print("No tools.", style="dim")
        return
    rows = [(spec.name, _parameters(spec), spec.description.partition("\n")[0]) for spec in specs]
    table(("TOOL", "PARAMETERS", "DESCRIPTION"), rows)


def tool_page(spec: ToolSpec) -> None:
    """Show one tool with all that is known of it."""
    console = Console()
    console.print(escape(spec.name), style="bold cyan")
    console.print(escape(spec.description), highlight=False)
    if spec.returns:
        console.print(f"\n[dim]returns[/dim]  {escape(spec.returns)}", highlight=False)
    if spec.example:
        console.print(f"[dim]example[/dim]  {escape(spec.example)}", highlight=False)
    console.print("\nparameters", style="dim")
    console.print(_json(dict(spec.input_schema)))
    hidden = ("name", "description", "inputSchema", "returns", "example")
    rest = {key: value for key, value in spec.details().items() if key not in hidden}
    console.print("\nmore", style="dim")
    table(("", ""), [(key, str(value)) for key, value in rest.items()])


def result(answer: ToolResult) -> None:
    """Show what a call returned, or why it failed."""
    console = Console()
    took = f"[dim]{answer.meta.duration_ms:.1f} ms[/dim]"
    if answer.error is None:
        console.print(f"[green]ok[/green] {escape(answer.meta.tool)} {took}", highlight=False)
        console.print(
            answer.data if isinstance(answer.data, str) else _json(answer.data), markup=False, highlight=False
        )
        return
    console.print(f"[red]{answer.error.code}[/red] {escape(answer.meta.tool)} {took}", highlight=False)
    console.print(escape(answer.error.message), highlight=False)


def _parameters(spec: ToolSpec) -> str:
    required = spec.input_schema.get("required", ())
    return ", ".join(
        name if name in required else f"{name}?" for name in spec.input_schema.get("properties", ())
    )


def _json(value: Any) -> Syntax:
    return Syntax(pretty(value), "json", theme=THEME, background_color="default", word_wrap=True)
