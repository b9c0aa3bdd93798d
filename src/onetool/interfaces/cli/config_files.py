"""Atomic edits of the user's settings and secrets, one command at a time."""

import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path

import click

from onetool.domain.errors import SettingsError
from onetool.files.atomic import PRIVATE, make_private_dir, write_atomic
from onetool.files.lock import locked
from onetool.settings.configuration import SECRETS_FILE, SETTINGS_FILE, check_settings
from onetool.settings.yaml_editor import set_secret

from .command import current_paths

TIMEOUT_S = 10.0
"""Seconds to wait for another command."""
Secrets = Mapping[str, str | None]


def edit_settings(change: Callable[[Path, str], str], secrets: Secrets | None = None) -> None:
    """Change the settings and set the secrets that they refer to.

    Writes nothing unless the new settings are valid. Signals running processes to reload.
    """
    file = _path(SETTINGS_FILE)
    with _exit_on_error(), _exclusive():
        new = change(file, _read(file))
        check_settings(file, new.encode())
        if secrets:
            _write_secrets(secrets)
        write_atomic(file, new.encode(), mode=file.stat().st_mode & 0o777 if file.exists() else PRIVATE)
    write_atomic(current_paths().reload_file, b"")


def edit_secrets(values: Secrets) -> None:
    """Set secrets. The value None removes a secret."""
    with _exit_on_error(), _exclusive():
        _write_secrets(values)
    write_atomic(current_paths().reload_file, b"")


def _write_secrets(values: Secrets) -> None:
    file = _path(SECRETS_FILE)
    text = _read(file)
    for name, value in values.items():
        text = set_secret(file, text, name, value)
    write_atomic(file, text.encode())


def _path(name: str) -> Path:
    return (current_paths().config / name).resolve()  # an atomic write would replace a symlink


def _read(file: Path) -> str:
    """Return the text of a file with its original line endings, or an empty text if there is none."""
    try:
        return file.read_bytes().decode()
    except FileNotFoundError:
        return ""
    except UnicodeDecodeError as error:
        raise SettingsError(f"{file}:1: not UTF-8 text (byte {error.start}).") from None


@contextmanager
def _exit_on_error() -> Iterator[None]:
    """Print a failed edit to stderr and exit with code 2."""
    try:
        yield
    except SettingsError as error:
        click.echo(f"Error: {error}", err=True)
        raise SystemExit(2) from None


@contextmanager
def _exclusive() -> Iterator[None]:
    """Lock out other commands that edit the same files.

    Raises:
        TimeoutError: Another command holds the lock.
    """
    lock = current_paths().state / "settings.lock"
    make_private_dir(lock.parent)
    with ExitStack() as stack:
        descriptor = os.open(lock, os.O_RDWR | os.O_CREAT, PRIVATE)
        stack.callback(os.close, descriptor)
        try:
            stack.enter_context(locked(descriptor, TIMEOUT_S))
        except TimeoutError:
            raise TimeoutError(
                f"Another command has locked the settings for {TIMEOUT_S:g} s ({lock}). Try again later"
            ) from None
        yield
