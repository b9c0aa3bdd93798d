"""`onetool auth`: manage the API keys and the default provider of chat models."""

import os
import sys
from collections.abc import Mapping
from typing import Any

import click

from onetool.domain.errors import SettingsError
from onetool.interfaces.server_settings.settings_file import set_default_provider
from onetool.settings.provider_status import (
    ProviderStatus,
    check_provider,
    key_secret_name,
    provider_statuses,
)

from .command import current_paths, json_option, load_current_configuration, print_json, stdout, use_json
from .config_files import NO_ECHO, edit_secrets, refuse_secret_argument, secrets_place
from .groups import CommandGroup


@click.group(cls=CommandGroup)
def auth() -> None:
    """Manage API keys and the default chat model provider.

    \b
    Examples:
      onetool auth login openai
      onetool auth use ollama
      onetool auth status
    """


@auth.command(context_settings=NO_ECHO)
@click.argument("provider")
@click.argument("words", nargs=-1, metavar="")
def login(provider: str, words: tuple[str, ...]) -> None:
    """Store an API key for PROVIDER. Prompts for the key or reads it from stdin.

    \b
    Examples:
      onetool auth login openai
      pass show openai | onetool auth login openai
    """
    name = _key_name(provider)
    if words:
        refuse_secret_argument(f"onetool auth login {provider}")
    place = secrets_place(name)
    is_interactive = sys.stdin.isatty()
    key = click.prompt(f"API key for {provider}", hide_input=True) if is_interactive else sys.stdin.read()
    if not (key := key.strip()):
        raise click.UsageError("The key is empty.")
    if len(key.splitlines()) > 1:
        raise click.UsageError("The key has more than one line. Pass only the first line.")
    edit_secrets({name: key})
    click.echo(f"Stored as {name} in {place}.")
    click.echo(f"Try it: onetool ask --provider {provider} hi")


@auth.command()
@click.argument("provider")
def logout(provider: str) -> None:
    """Remove the stored API key for PROVIDER.

    \b
    Example:
      onetool auth logout openai
    """
    name = _key_name(provider)
    if name not in load_current_configuration().secrets.names:
        click.echo(f"No key is stored for {provider}.")
        return
    edit_secrets({name: None})
    click.echo(f"Removed {name}.")


@auth.command()
@click.argument("provider")
def use(provider: str) -> None:
    """Set the default provider.

    \b
    Example:
      onetool auth use ollama
    """
    try:
        check_provider(load_current_configuration().settings, provider)
    except SettingsError as error:
        raise click.BadParameter(str(error)) from None
    set_default_provider(current_paths(), provider)
    click.echo(f"Default provider: {provider}")


@auth.command()
@json_option
def status(as_json: bool) -> None:
    """Show the providers, their models and where their API keys are stored.

    \b
    Example:
      onetool auth status
    """
    configuration = load_current_configuration()
    statuses = provider_statuses(configuration, os.environ)
    providers = [_to_json(status, configuration.provider) for status in statuses]
    if use_json(as_json):
        print_json(providers)
        return
    from .tables import table

    rows = [(row["provider"], row["model"], row["key"], "yes" if row["chosen"] else "") for row in providers]
    table(("PROVIDER", "MODEL", "KEY", "DEFAULT"), rows)
    click.echo("\nSet the default: onetool auth use PROVIDER", file=stdout())


def _key_name(provider: str) -> str:
    """Return the name of the secret that holds the provider's key.

    Raises:
        BadParameter: The provider is unknown, needs no key, or has no `key_secret`.
    """
    try:
        return key_secret_name(load_current_configuration().settings, provider)
    except SettingsError as error:
        raise click.BadParameter(str(error)) from None


def _to_json(status: ProviderStatus, default: str | None) -> Mapping[str, Any]:
    is_in_env = status.key_location == "environment"
    location = f"environment ({status.key})" if is_in_env else status.key_location
    return {
        "provider": status.name,
        "model": status.model,
        "key": location,
        "chosen": default == status.name,
    }
