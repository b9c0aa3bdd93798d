"""`onetool auth`: keys of chat models, and which one is used."""

import os
import sys
from collections.abc import Mapping
from typing import Any

import click

from onetool.domain.nearest import did_you_mean
from onetool.domain.providers import PROVIDERS, SCRIPTED
from onetool.files.atomic import write_atomic
from onetool.settings.configuration import SECRETS_FILE
from onetool.settings.providers import SetUp, set_up

from .edits import edit_secrets
from .session import answers, find, json_option, load, wants_json, write_json


@click.group()
def auth() -> None:
    """Give chat models their keys, and choose the one that is used.

    \b
    Examples:
      onetool auth login openai
      onetool auth use ollama
      onetool auth status
    """


@auth.command()
@click.argument("provider")
def login(provider: str) -> None:
    """Keep the key of a PROVIDER; it is asked for, or read from stdin, and never shown.

    \b
    Examples:
      onetool auth login openai
      pass show openai | onetool auth login openai
    """
    name = _key_name(provider)
    asks = sys.stdin.isatty()
    key = click.prompt(f"Key of {provider}", hide_input=True) if asks else sys.stdin.read()
    if not (key := key.strip()):
        raise click.UsageError("The key is empty.")
    if len(key.splitlines()) > 1:
        raise click.UsageError("The key has more than one line: give only its first.")
    edit_secrets({name: key})
    click.echo(
        f"Kept as {name} in {find().config / SECRETS_FILE}. Try it: onetool ask --provider {provider} hi"
    )


@auth.command()
@click.argument("provider")
def logout(provider: str) -> None:
    """Forget the key of a PROVIDER.

    \b
    Example:
      onetool auth logout openai
    """
    name = _key_name(provider)
    if name not in load().secrets:
        click.echo(f"There is no key of {provider} among the secrets.")
        return
    edit_secrets({name: None})
    click.echo(f"Removed {name}.")


@auth.command()
@click.argument("provider")
def use(provider: str) -> None:
    """Use a PROVIDER whenever none is named.

    \b
    Example:
      onetool auth use ollama
    """
    configuration = load()
    known = [*configuration.settings.providers, *PROVIDERS, SCRIPTED]
    if provider not in known:
        raise click.BadParameter(f"Provider not supported: {provider}.{did_you_mean(provider, known)}")
    write_atomic(find().provider_file, provider.encode())
    write_atomic(find().reload_file, b"")
    click.echo(f"{provider} answers from now on.")


@auth.command()
@json_option
def status(as_json: bool) -> None:
    """Show the chat models and where their keys come from.

    \b
    Example:
      onetool auth status
    """
    configuration = load()
    found = [_shown(one, configuration.provider) for one in set_up(configuration, os.environ)]
    if wants_json(as_json):
        write_json(found)
        return
    from .screen import table

    rows = [(one["provider"], one["model"], one["key"], "yes" if one["chosen"] else "") for one in found]
    table(("PROVIDER", "MODEL", "KEY", "CHOSEN"), rows)
    click.echo("\nChoose one: onetool auth use PROVIDER", file=answers())


def _key_name(provider: str) -> str:
    configured = load().settings.providers.get(provider)
    if configured is not None and configured.key:
        return configured.key
    known = PROVIDERS.get(provider)
    if known is None or not known.keys:
        takers = [name for name, one in PROVIDERS.items() if one.keys]
        why = "needs no key" if known or provider == SCRIPTED else "is not known"
        if configured is not None and known is None:
            raise click.BadParameter(
                f"providers.{provider} names no secret. Write in onetool.yaml: key: NAME_OF_THE_SECRET"
            )
        raise click.BadParameter(
            f"{provider!r} {why}.{did_you_mean(provider, takers)} Known: {', '.join(takers)}."
        )
    return known.keys[0]


def _shown(one: SetUp, chosen: str | None) -> Mapping[str, Any]:
    where = f"environment ({one.key})" if one.place == "environment" else one.place
    return {"provider": one.name, "model": one.model, "key": where, "chosen": chosen == one.name}
