"""Edits of the user's settings and secrets by commands."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import click

from onetool.domain.errors import SettingsError
from onetool.interfaces.server_settings import settings_file
from onetool.interfaces.server_settings.settings_file import Change, Secrets
from onetool.settings.configuration import SECRETS_FILE, load_user_settings

from .command import current_paths


def edit_settings(change: Change, secrets: Secrets | None = None) -> None:
    """Change the settings and set the secrets that they refer to. Exit with code 2 if that fails."""
    with exit_on_edit_error():
        settings_file.edit_settings(current_paths(), change, secrets)


def edit_secrets(values: Secrets, hosts: Sequence[str] = ()) -> None:
    """Set secrets. The value None removes a secret. Exit with code 2 if that fails."""
    with exit_on_edit_error():
        settings_file.edit_secrets(current_paths(), values, hosts)


def secrets_place(name: str) -> str:
    """Return where commands store the values of secrets.

    Raises:
        ClickException: The user chose a command that prints them, so another tool stores them.
    """
    paths = current_paths()
    with exit_on_edit_error():
        settings = load_user_settings(paths).secrets
    file = paths.config / SECRETS_FILE
    if settings.backend == "command":
        raise click.ClickException(
            f"The values of secrets are in the tool that secrets.command runs ({settings.command[0]!r}). "
            f"Store the value there, and add the line `{name}:` to {file}."
        )
    return "the key store" if settings.backend == "keyring" else str(file)


@contextmanager
def exit_on_edit_error() -> Iterator[None]:
    """Print a failed edit to stderr and exit with code 2."""
    try:
        yield
    except SettingsError as error:
        click.echo(f"Error: {error}", err=True)
        raise SystemExit(2) from None
