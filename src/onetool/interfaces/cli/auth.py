"""`onetool auth`: manage the API keys and the default provider of chat models."""

import os
import sys
from collections.abc import Mapping
from typing import Any

import click

from onetool.domain.chat.providers import PROVIDERS, SCRIPTED
from onetool.domain.text.suggestions import did_you_mean
from onetool.files.atomic import write_atomic
from onetool.settings.provider_status import ProviderStatus, provider_statuses

from .command import current_paths, json_option, load_current_configuration, print_json, stdout, use_json
from .config_files import edit_secrets, secrets_place


@click.group()
def auth() -> None:
    """Manage API keys and the default chat model provider.

    \b
    Examples:
      onetool auth login openai
      onetool auth use ollama
      onetool auth status
    """


@auth.command()
@click.argument("provider")
def login(provider: str) -> None:
    """Store an API key for PROVIDER. Prompts for the key or reads it from stdin.

    \b
    Examples:
      onetool auth login openai
      pass show openai | onetool auth login openai
    """
    name = _key_name(provider)
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
    configuration = load_current_configuration()
    supported = [*configuration.settings.providers, *PROVIDERS, SCRIPTED]
    if provider not in supported:
        raise click.BadParameter(f"Provider not supported: {provider}.{did_you_mean(provider, supported)}")
    write_atomic(current_paths().provider_file, provider.encode())
    write_atomic(current_paths().reload_file, b"")
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
    configured = load_current_configuration().settings.providers.get(provider)
    if configured is not None and configured.key_secret:
        return configured.key_secret
    known = PROVIDERS.get(provider)
    if known is None or not known.keys:
        with_key = [name for name, entry in PROVIDERS.items() if entry.keys]
        reason = "needs no key" if known or provider == SCRIPTED else "is not a known provider"
        if configured is not None and known is None:
            raise click.BadParameter(
                f"providers.{provider} has no key_secret. Add to onetool.yaml: key_secret: NAME_OF_THE_SECRET"
            )
        raise click.BadParameter(
            f"{provider!r} {reason}.{did_you_mean(provider, with_key)} "
            f"Providers with a key: {', '.join(with_key)}."
        )
    return known.keys[0]


def _to_json(status: ProviderStatus, default: str | None) -> Mapping[str, Any]:
    is_in_env = status.key_location == "environment"
    location = f"environment ({status.key})" if is_in_env else status.key_location
    return {
        "provider": status.name,
        "model": status.model,
        "key": location,
        "chosen": default == status.name,
    }
