"""What a person sees while a model works: its words as they come, each call as one line."""

from collections.abc import Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.markup import escape
from rich.padding import Padding
from rich.text import Text

from onetool.conversation.answer import CallEnded, CallStarted, Event, TextPiece
from onetool.domain.json_text import jsonable
from onetool.domain.texts import cut
from onetool.domain.yaml_text import to_yaml

from .session import answers, masked

SHORT, LONG = 60, 2_000


class AskScreen:
    """Writes events to the terminal."""

    def __init__(self, verbose: bool) -> None:
        self._verbose = verbose
        self._console = Console(file=answers(), highlight=False)
        self._is_mid_line = False
        self._held: list[Event] | None = None

    @contextmanager
    def quiet(self) -> Iterator[None]:
        """Show nothing while a question waits: what a tool says could pass for another question."""
        self._held = []
        try:
            yield
        finally:
            held, self._held = self._held, None
            for event in held:
                self.tell(event)

    def tell(self, event: Event) -> None:
        """Show what happens, now or when a question has been answered."""
        if self._held is not None:
            self._held.append(event)
        elif isinstance(event, TextPiece):
            self._say(event.text)
        elif isinstance(event, CallEnded):
            self._end_line()
            self._call(event)
        elif isinstance(event, CallStarted):
            self._end_line()

    def _say(self, text: str) -> None:
        shown = masked(text)
        self._console.print(shown, end="", markup=False, soft_wrap=True)
        self._console.file.flush()
        if shown:
            self._is_mid_line = not shown.endswith("\n")

    def _end_line(self) -> None:
        if self._is_mid_line:
            self._console.print()
            self._is_mid_line = False

    def _call(self, event: CallEnded) -> None:
        call, result = event.call, event.result
        sign = "[green]✓[/green]" if result.ok else "[red]✗[/red]"
        took = "cached" if result.meta.cached else f"{result.meta.duration_ms:.0f} ms"
        args = cut(", ".join(f"{key}={value!r}" for key, value in call.args.items()), SHORT)
        line = f"{sign} [bold]{escape(masked(call.name))}[/bold]({escape(masked(args))}) [dim]{took}[/dim]"
        self._console.print(line)
        if result.error is not None:
            self._console.print(Padding(Text(masked(result.error.message), style="red"), (0, 0, 0, 2)))
        elif self._verbose:
            shown = masked(cut(to_yaml(jsonable(result.data)), LONG))
            self._console.print(Padding(Text(shown, style="dim"), (0, 0, 0, 2)))
