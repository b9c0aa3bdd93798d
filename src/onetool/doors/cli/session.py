"""What commands share: opening a OneTool, and answering in JSON or in words."""

import asyncio
import os
import sys
from collections.abc import Callable, Coroutine, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TextIO, TypeVar

import click

from onetool.bootstrap import open_runtime
from onetool.domain.errors import SettingsError
from onetool.domain.json_text import jsonable, pretty
from onetool.domain.redaction import Redactor
from onetool.domain.texts import printable
from onetool.runtime import Runtime
from onetool.settings.configuration import Configuration, load_configuration
from onetool.settings.places import Places, find_places

T = TypeVar("T")
_answers: TextIO | None = None
_redactor = Redactor()

json_option = click.option("--json", "as_json", is_flag=True, help="Write JSON, as when not on a terminal.")


def wants_json(as_json: bool) -> bool:
    """Whether the answer goes to a program: it was asked for, or nobody looks at a terminal."""
    return as_json or not answers().isatty()


def write_json(value: Any) -> None:
    """Write a value to stdout, without secrets."""
    click.echo(pretty(_redactor.clean(jsonable(value)) if _redactor else value), file=answers())


def masked(text: str) -> str:
    """Return a text fit for a terminal: no secrets, and no signs that would move or hide what is shown."""
    return printable(_redactor.redact(text))


def fit(text: str, place: TextIO) -> str:
    """Return a text fit for a place: at a terminal no signs that would move or hide what is shown."""
    return printable(text) if place.isatty() else text


def answers() -> TextIO:
    """Where answers go: the stdout that the command was started with."""
    return _answers or sys.stdout


def _claim_stdout() -> None:
    """Keep stdout for the answer: whatever a tool prints, or a program that it starts, goes to stderr."""
    global _answers
    if _answers is None:
        sys.stdout.flush()
        _answers = os.fdopen(os.dup(1), "w", encoding="utf-8", errors="replace")
        os.dup2(2, 1)


def confirm(question: str) -> None:
    """Ask whether to go on, and end the command otherwise; where nobody can answer, say what would do."""
    try:
        is_agreed = click.confirm(question, err=True)
    except click.Abort:
        if sys.stdin.isatty():
            raise
        click.echo(err=True)
        raise click.ClickException(
            "nobody is there to answer. To go on without a question, add --yes."
        ) from None
    if not is_agreed:
        raise click.Abort


def find() -> Places:
    """The directories of this user, and of the project that the shell stands in."""
    try:
        return find_places(os.environ, Path.cwd())
    except FileNotFoundError:
        raise click.ClickException("the directory that you stand in is gone. Go to another: cd ~") from None


def load() -> Configuration:
    """Read the settings; say in one line what of this project is held back."""
    global _redactor
    with settings_errors():
        configuration = load_configuration(find(), os.environ)
    _redactor = configuration.secrets.redactor
    if configuration.held_back:
        number = len(configuration.held_back)
        files = "1 file of this project is" if number == 1 else f"{number} files of this project are"
        click.echo(f"{files} held back until you look at them with: onetool trust", err=True)
    return configuration


def with_runtime(use: Callable[[Runtime], Coroutine[Any, Any, T]]) -> T:
    """Open a OneTool, use it, and close it."""
    configuration = load()
    _claim_stdout()
    context = click.get_current_context(silent=True)
    level = (context.find_root().obj or {}).get("log_level") if context else None

    read_first = iter([configuration])

    def read() -> Configuration:
        """What was read already, and on every reload the files."""
        return next(read_first, None) or load_configuration(configuration.places, os.environ)

    async def run() -> T:
        async with open_runtime(read, log_level=level) as runtime:
            return await use(runtime)

    return asyncio.run(run())


@contextmanager
def settings_errors() -> Iterator[None]:
    """Turn broken settings into a message on stderr and exit code 2."""
    try:
        yield
    except SettingsError as error:
        click.echo(f"Error: the settings cannot be used.\n{error}", err=True)
        raise SystemExit(2) from None
