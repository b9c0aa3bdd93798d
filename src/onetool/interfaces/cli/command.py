"""Helpers for all commands: open the runtime, load settings, print JSON, ask for confirmation."""

import asyncio
import os
import sys
from collections.abc import Callable, Coroutine, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any, TextIO, TypeVar

import click

from onetool.bootstrap import open_runtime
from onetool.domain.calls.caller import Caller
from onetool.domain.errors import SettingsError
from onetool.domain.secrets.credential_set import CredentialSet
from onetool.domain.text.json_text import jsonable, pretty
from onetool.domain.text.strings import pluralize, printable
from onetool.interfaces.background.attach_server import attach_server
from onetool.runtime.runtime import Runtime
from onetool.settings.configuration import Configuration, load_configuration
from onetool.settings.paths import Paths, find_paths

from .start_progress import StartProgress

T = TypeVar("T")
_stdout: TextIO | None = None
_credentials = CredentialSet()
"""What is redacted in the output of the command."""
_progress = StartProgress()
"""What the command shows while servers start."""

json_option = click.option("--json", "as_json", is_flag=True, help="Print JSON.")


def use_json(as_json: bool) -> bool:
    """Return whether to print JSON: requested by option, or stdout is not a terminal."""
    return as_json or not stdout().isatty()


def print_json(value: Any) -> None:
    """Print a value as JSON, with secrets masked."""
    click.echo(pretty(mask_values(value)), file=stdout())


def mask_values(value: Any) -> Any:
    """Mask secrets in a value that is printed as JSON or YAML."""
    redactor = _credentials.redactor
    return redactor.mask(jsonable(value)) if redactor else value


def mask(text: str) -> str:
    """Mask secrets and replace control characters."""
    return printable(_credentials.redact(text))


def terminal_safe(text: str, stream: TextIO) -> str:
    """Replace control characters if the stream is a terminal."""
    return printable(text) if stream.isatty() else text


def stdout() -> TextIO:
    """Return the stdout that the command was started with."""
    return _stdout or sys.stdout


def _reserve_stdout() -> None:
    """Reserve stdout for the command's output. Output of tools and their child processes goes to stderr."""
    global _stdout
    if _stdout is None:
        sys.stdout.flush()
        _stdout = os.fdopen(os.dup(1), "w", encoding="utf-8", errors="replace")
        os.dup2(2, 1)


def has_terminal() -> bool:
    """Return whether the user can be asked: input and output are a terminal."""
    return sys.stdin.isatty() and sys.stdout.isatty()


def confirm(question: str) -> None:
    """Ask for confirmation and abort the command if the user declines.

    Raises:
        ClickException: Stdin is not interactive; the message suggests `--yes`.
    """
    try:
        with _progress.paused():
            is_confirmed = click.confirm(question, err=True)
    except click.Abort:
        if sys.stdin.isatty():
            raise
        click.echo(err=True)
        raise click.ClickException("Confirmation required. Add --yes to skip it.") from None
    if not is_confirmed:
        raise click.Abort


def current_paths() -> Paths:
    """Return the directories of the user and of the project in the working directory."""
    try:
        return find_paths(os.environ, Path.cwd())
    except FileNotFoundError:
        raise click.ClickException("The working directory no longer exists. Change to another one.") from None


def load_current_configuration() -> Configuration:
    """Load the settings and report untrusted project files on stderr."""
    with exit_on_settings_error():
        configuration = load_configuration(current_paths(), os.environ)
    _credentials.keep(configuration.credentials)
    if configuration.untrusted_files:
        files = pluralize(len(configuration.untrusted_files), "untrusted project file")
        click.echo(f"Ignoring {files}. Review with: onetool trust", err=True)
    return configuration


def chosen_log_level() -> str | None:
    """Return the level that the user passed with --log-level."""
    context = click.get_current_context(silent=True)
    level: str | None = (context.find_root().obj or {}).get("log_level") if context else None
    return level


def with_runtime(
    action: Callable[[Runtime], Coroutine[Any, Any, T]],
    *,
    log_level: str | None = None,
    waits_for_servers: bool = True,
    waits_for_libraries: bool = True,
    progress: StartProgress | None = None,
) -> T:
    """Open a runtime, run an action with it and close it.

    log_level: minimum level of messages on stderr, unless the user passed --log-level.
    waits_for_servers: whether listings wait until servers have started, with their progress on a terminal.
    waits_for_libraries: whether listings wait until libraries of packs are installed; False for a server.
    progress: shows servers that are starting; for an action that pauses it while it prints.
    """
    configuration = load_current_configuration()
    _reserve_stdout()
    level = chosen_log_level() or log_level

    already_loaded = iter([configuration])

    def load() -> Configuration:
        """Return the loaded configuration first, and read the files again on every reload."""
        return next(already_loaded, None) or load_configuration(configuration.paths, os.environ)

    async def run() -> T:
        global _credentials, _progress
        _progress = progress or _progress
        async with open_runtime(
            load,
            log_level=level,
            owns_process=True,
            waits_for_servers=waits_for_servers,
            waits_for_libraries=waits_for_libraries,
            asks_users=not waits_for_servers or (sys.stdin.isatty() and sys.stderr.isatty()),
            attach=partial(attach_server, configuration.paths),
        ) as runtime:
            _credentials = runtime.state.credentials  # with tokens that are issued later
            if not waits_for_servers:
                return await action(runtime)
            async with _progress.show(runtime):
                return await action(runtime)

    return asyncio.run(run())


def show_skipped_packs(runtime: Runtime, caller: Caller, pattern: str = "") -> None:
    """Name the packs that were not loaded on stderr, and why, if a pattern of tools could mean them."""
    pack = pattern.partition(".")[0].lower()
    for name, reason in runtime.state.catalog.skipped_packs(caller).items():
        if pack in name.lower() or any(char in pack for char in "*?["):
            click.echo(mask(f"Missing: the tools of {name} ({reason.rstrip('.')})."), err=True)


@contextmanager
def exit_on_settings_error() -> Iterator[None]:
    """Print invalid settings to stderr and exit with code 2."""
    try:
        yield
    except SettingsError as error:
        click.echo(f"Error: Invalid settings.\n{error}", err=True)
        raise SystemExit(2) from None
