"""Edits of the user's settings and secrets by commands."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import NoReturn

import click

from onetool.domain.errors import SettingsError
from onetool.interfaces.server_settings import settings_file
from onetool.interfaces.server_settings.settings_file import Change, Secrets, SecretsElsewhere
from onetool.settings.yaml_editor import Kept, SecretHosts

from .command import current_paths


def edit_settings(change: Change, secrets: Secrets | None = None) -> None:
    """Change the settings and set the secrets that they refer to. Exit with code 2 if that fails."""
    with exit_on_edit_error():
        settings_file.edit_settings(current_paths(), change, secrets)


def edit_secrets(values: Secrets, hosts: SecretHosts = Kept.HOSTS) -> None:
    """Set secrets. The value None removes a secret. Exit with code 2 if that fails."""
    with exit_on_edit_error():
        settings_file.edit_secrets(current_paths(), values, hosts)


def secrets_place(name: str) -> str:
    """Return where commands store the values of secrets.

    Raises:
        ClickException: The user chose a command that prints them, so another tool stores them.
    """
    with exit_on_edit_error():
        try:
            return settings_file.secrets_place(current_paths(), name)
        except SecretsElsewhere as error:
            raise click.ClickException(str(error)) from None


NO_ECHO = {"ignore_unknown_options": True}
"""For commands that refuse secrets as arguments: click would repeat one that starts with `-`."""


def refuse_secret_argument(command: str) -> NoReturn:
    """Refuse a secret that was passed as an argument, without repeating it.

    Raises:
        UsageError: Always.
    """
    raise click.UsageError(
        "Secrets are not accepted as arguments: the history of your shell and other processes can show them. "
        f"Run without the value, then type it:\n  {command}\n"
        f"Or pass it through stdin:\n  {command} < FILE\n"
        "If the value is real, delete it from the history of your shell."
    )


@contextmanager
def exit_on_edit_error() -> Iterator[None]:
    """Print a failed edit to stderr and exit with code 2."""
    try:
        yield
    except SettingsError as error:
        click.echo(f"Error: {error}", err=True)
        raise SystemExit(2) from None
