"""Changes that commands make to the user's own files: whole or not at all, one command at a time."""

import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path

import click

from onetool.domain.errors import SettingsError
from onetool.files.atomic import PRIVATE, write_atomic
from onetool.files.lock import locked
from onetool.settings.configuration import SECRETS_FILE, SETTINGS_FILE, check_settings
from onetool.settings.editing import set_secret

from .session import find

PATIENCE = 10.0
"""Seconds that another command may take."""
Values = Mapping[str, str | None]


def edit_settings(change: Callable[[Path, str], str], secrets: Values | None = None) -> None:
    """Change the settings, if what comes out of it can be used, with the secrets that they then name.

    Nothing is written before both are known to work; running processes follow.
    """
    file = _file(SETTINGS_FILE)
    with _errors(), _alone():
        new = change(file, _text(file))
        check_settings(file, new.encode())
        if secrets:
            _write_secrets(secrets)
        write_atomic(file, new.encode(), mode=file.stat().st_mode & 0o777 if file.exists() else PRIVATE)
    write_atomic(find().reload_file, b"")


def edit_secrets(values: Values) -> None:
    """Set secrets, or remove those whose value is None."""
    with _errors(), _alone():
        _write_secrets(values)
    write_atomic(find().reload_file, b"")


def _write_secrets(values: Values) -> None:
    file = _file(SECRETS_FILE)
    text = _text(file)
    for name, value in values.items():
        text = set_secret(file, text, name, value)
    write_atomic(file, text.encode())


def _file(name: str) -> Path:
    return (find().config / name).resolve()  # a link to it stays one


def _text(file: Path) -> str:
    """What the file holds, with its own line ends."""
    try:
        return file.read_bytes().decode()
    except FileNotFoundError:
        return ""
    except UnicodeDecodeError as error:
        raise SettingsError(f"{file}:1: not UTF-8 text (byte {error.start}).") from None


@contextmanager
def _errors() -> Iterator[None]:
    """Turn an edit that cannot be made into a message on stderr and exit code 2."""
    try:
        yield
    except SettingsError as error:
        click.echo(f"Error: {error}", err=True)
        raise SystemExit(2) from None


@contextmanager
def _alone() -> Iterator[None]:
    """Hold off other commands that edit the same files."""
    lock = find().state / "settings.lock"
    lock.parent.mkdir(parents=True, exist_ok=True)
    with ExitStack() as stack:
        descriptor = os.open(lock, os.O_RDWR | os.O_CREAT, PRIVATE)
        stack.callback(os.close, descriptor)
        try:
            stack.enter_context(locked(descriptor, PATIENCE))
        except TimeoutError:
            raise TimeoutError(
                f"another command has held the settings for {PATIENCE:g} s ({lock}). Try again later"
            ) from None
        yield
