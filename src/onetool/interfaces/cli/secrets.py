"""`onetool secrets`: list, set and delete secrets, wherever their values are."""

import sys

import click

from onetool.domain.text.suggestions import did_you_mean
from onetool.settings.configuration import load_user_settings
from onetool.settings.documents import SECRETS_FILE
from onetool.settings.secret_command import MAX_VALUE_BYTES
from onetool.settings.secrets import SecretEntry, check_name, read_entries
from onetool.settings.yaml_editor import Kept

from .command import current_paths, exit_on_settings_error, json_option, print_json, stdout, use_json
from .config_files import NO_ECHO, edit_secrets, exit_on_edit_error, refuse_secret_argument, secrets_place
from .groups import CommandGroup

USES = """\
  In a pack:  from onetool.sdk import get_secret; get_secret("{name}")
  Elsewhere:  ${{{name}}} in HTTP tools, and in env and headers of servers"""
"""How a stored secret is used."""


@click.group(cls=CommandGroup)
def secrets() -> None:
    """List, set and delete secrets.

    Their names are in secrets.yaml, their values there or where `secrets.backend` says: in the key store of
    the system, or in a tool of yours that prints them.

    A pack reads a secret with get_secret("NAME") of onetool.sdk. HTTP tools, and the env and headers of
    servers, insert it with ${NAME}.

    \b
    Examples:
      onetool secrets set GITHUB_TOKEN --host api.github.com
      onetool secrets list
    """


@secrets.command("list")
@json_option
def list_secrets(as_json: bool) -> None:
    """List the names of secrets, where their values are, and the hosts they may be sent to.

    Reads no value from the key store and runs no command.
    """
    entries = _entries()
    with exit_on_settings_error():
        backend = load_user_settings(current_paths()).secrets.backend
    rows = [(entry.name, _source(entry, backend), entry.hosts) for entry in entries]
    if use_json(as_json):
        print_json([{"name": name, "source": source, "hosts": hosts} for name, source, hosts in rows])
        return
    if not rows:
        click.echo("No secrets. Add one with: onetool secrets set NAME", file=stdout())
        return
    from .tables import table

    table(
        ("NAME", "VALUE", "HOSTS"),
        [
            (name, source, "any" if hosts is None else ", ".join(hosts) or "none")
            for name, source, hosts in rows
        ],
    )


@secrets.command("set", context_settings=NO_ECHO)
@click.argument("name")
@click.argument("words", nargs=-1, metavar="")
@click.option("--host", "hosts", multiple=True, help="Only send it to this host. Repeatable.")
def set_secret(name: str, words: tuple[str, ...], hosts: tuple[str, ...]) -> None:
    """Set secret NAME. Prompts for the value or reads it from stdin.

    Without --host, the hosts of an existing secret stay.

    \b
    Examples:
      onetool secrets set WEATHER_KEY
      pass show github | onetool secrets set GITHUB_TOKEN --host api.github.com
    """
    name, separator, _ = name.partition("=")
    if words or separator:
        refuse_secret_argument(f"onetool secrets set {name}")
    with exit_on_edit_error():
        check_name(name)
    place = secrets_place(name)
    edit_secrets({name: _read_value(name)}, hosts or Kept.HOSTS)
    click.echo(f"Stored secret {name} in {place}.", file=stdout())
    click.echo(USES.format(name=name), file=stdout())


@secrets.command("delete")
@click.argument("name")
def delete_secret(name: str) -> None:
    """Delete secret NAME: its entry in secrets.yaml, and its value in the key store."""
    names = [entry.name for entry in _entries()]
    if name not in names:
        raise click.ClickException(f"There is no secret {name!r}.{did_you_mean(name, names)}")
    edit_secrets({name: None})
    click.echo(f"Deleted secret {name}.", file=stdout())


def _entries() -> tuple[SecretEntry, ...]:
    with exit_on_settings_error():
        return read_entries(current_paths().config / SECRETS_FILE)


def _source(entry: SecretEntry, backend: str) -> str:
    """Return where the value of a secret is."""
    if entry.variable is not None:
        return f"environment ({entry.variable})"
    if entry.value is not None:
        return SECRETS_FILE
    return "missing" if backend == "file" else backend


def _read_value(name: str) -> str:
    """Ask for a value, or read it from stdin: all lines, without the last line end."""
    if sys.stdin.isatty():
        value: str = click.prompt(f"Value of {name}", hide_input=True)
    else:
        value = sys.stdin.read(MAX_VALUE_BYTES + 1).removesuffix("\n").removesuffix("\r")
    if not value:
        raise click.UsageError("The value is empty.")
    if len(value.encode(errors="replace")) > MAX_VALUE_BYTES:
        raise click.UsageError(f"The value is longer than {MAX_VALUE_BYTES:,} bytes.")
    return value
