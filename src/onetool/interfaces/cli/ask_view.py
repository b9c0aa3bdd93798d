"""Terminal output of `onetool ask`: streamed text, and one line for each call."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from rich.console import Console
from rich.markup import escape
from rich.padding import Padding
from rich.text import Text

from onetool.conversation.result import Event, TextDelta, ToolCallFinished, ToolCallStarted
from onetool.domain.calls.call import ToolResult
from onetool.domain.content.parts import media_of, part_readers, text_of
from onetool.domain.text.json_text import jsonable
from onetool.domain.text.strings import truncate_middle
from onetool.domain.text.yaml_text import to_yaml

from .command import mask, stdout
from .start_progress import StartProgress

MAX_ARGS_LENGTH, MAX_RESULT_LENGTH = 60, 2_000


class AskView:
    """Prints the events of a conversation."""

    def __init__(self, verbose: bool, progress: StartProgress) -> None:
        self._verbose, self._progress = verbose, progress
        self._console = Console(file=stdout(), highlight=False)
        self._is_mid_line = False
        self._delayed: list[Event] | None = None

    @contextmanager
    def paused(self) -> Iterator[None]:
        """Delay events while a prompt is open: output of a tool could imitate the prompt."""
        self._delayed = []
        self._progress.pause()
        try:
            yield
        finally:
            delayed, self._delayed = self._delayed, None
            self._resume_progress()
            for event in delayed:
                self.on_event(event)

    def on_event(self, event: Event) -> None:
        """Print an event, or delay it while a prompt is open."""
        if self._delayed is not None:
            self._delayed.append(event)
            return
        self._progress.pause()
        if isinstance(event, TextDelta):
            self._print_text(event.text)
        elif isinstance(event, ToolCallFinished):
            self._end_line()
            self._print_call(event)
        elif isinstance(event, ToolCallStarted):
            self._end_line()
        self._resume_progress()

    def _resume_progress(self) -> None:
        if not self._is_mid_line:
            self._progress.resume()

    def _print_text(self, text: str) -> None:
        text = mask(text)
        self._console.print(text, end="", markup=False, soft_wrap=True)
        self._console.file.flush()
        if text:
            self._is_mid_line = not text.endswith("\n")

    def _end_line(self) -> None:
        if self._is_mid_line:
            self._console.print()
            self._is_mid_line = False

    def _print_call(self, event: ToolCallFinished) -> None:
        call, result = event.call, event.result
        mark = "[green]✓[/green]" if result.ok else "[red]✗[/red]"
        duration = "cached" if result.meta.cached else f"{result.meta.duration_ms:.0f} ms"
        args = truncate_middle(
            ", ".join(f"{key}={value!r}" for key, value in call.args.items()), MAX_ARGS_LENGTH
        )
        line = f"{mark} [bold]{escape(mask(call.name))}[/bold]({escape(mask(args))}) [dim]{duration}[/dim]"
        self._console.print(line)
        if result.error is not None:
            self._console.print(Padding(Text(mask(result.error.message), style="red"), (0, 0, 0, 2)))
        elif self._verbose:
            self._print_value(result.data)
        for value in _values_for_user(result):
            self._print_value(value)

    def _print_value(self, value: Any) -> None:
        text = mask(truncate_middle(to_yaml(jsonable(value)), MAX_RESULT_LENGTH))
        self._console.print(Padding(Text(text, style="dim"), (0, 0, 0, 2)))


def _values_for_user(result: ToolResult) -> Iterator[Any]:
    """Yield the media of a result, and the texts that the model does not see."""
    for part in result.parts:
        media, text = media_of(part), text_of(part)
        if media is not None:
            yield media
        elif text is not None and part_readers(part) == {"user"}:
            yield text
