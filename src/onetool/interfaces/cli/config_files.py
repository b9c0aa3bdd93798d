"""Edits of the user's settings and secrets by commands."""

from collections.abc import Iterator
from contextlib import contextmanager

import click

from onetool.domain.errors import SettingsError
from onetool.interfaces.server_settings import settings_file
from onetool.interfaces.server_settings.settings_file import Change, Secrets

from .command import current_paths


def edit_settings(change: Change, secrets: Secrets | None = None) -> None:
    """Change the settings and set the secrets that they refer to. Exit with code 2 if that fails."""
    with exit_on_edit_error():
        settings_file.edit_settings(current_paths(), change, secrets)


def edit_secrets(values: Secrets) -> None:
    """Set secrets. The value None removes a secret. Exit with code 2 if that fails."""
    with exit_on_edit_error():
        settings_file.edit_secrets(current_paths(), values)


@contextmanager
def exit_on_edit_error() -> Iterator[None]:
    """Print a failed edit to stderr and exit with code 2."""
    try:
        yield
    except SettingsError as error:
        click.echo(f"Error: {error}", err=True)
        raise SystemExit(2) from None
