"""`onetool servers search | install`: servers of the MCP registry."""

import re
from typing import Any

import click

from onetool.domain.servers.registry_entry import LATEST, RegistryEntry
from onetool.domain.text.strings import pluralize
from onetool.interfaces.server_settings.installation import find_name_problem, write_installation
from onetool.interfaces.server_settings.registry_values import GivenValues
from onetool.registry.client import FoundServers
from onetool.settings.documents import SETTINGS_FILE
from onetool.settings.validation import IDENTIFIER

from .command import (
    current_paths,
    json_option,
    load_current_configuration,
    print_json,
    stdout,
    use_json,
)
from .config_files import exit_on_edit_error
from .registry_plan import (
    confirm_reviewed,
    exit_on_refusal,
    open_client,
    plan_installation,
    read_entry,
    single_values,
)
from .registry_view import show_settings
from .servers_config import parse_pairs, reserved_names

MAX_RESULTS = 50
KINDS = ("npm", "pypi", "oci", "remote")


@click.command()
@click.argument("words", nargs=-1, required=True)
@json_option
def search(words: tuple[str, ...], as_json: bool) -> None:
    """Search the MCP registry for servers whose name or description contains all WORDS.

    \b
    Example:
      onetool servers search filesystem
    """
    with exit_on_refusal():
        found = open_client().search(words, MAX_RESULTS)
    if found.skipped:
        click.echo(f"Skipped {pluralize(found.skipped, 'server')} with an invalid entry.", err=True)
    if use_json(as_json):
        print_json([_to_json(entry) for entry in found.entries])
    elif not found.entries:
        click.echo("No servers found. The registry compares the longest word with names.", file=stdout())
    else:
        _show_found(found)


@click.command()
@click.argument("name")
@click.option("--as", "pack", metavar="NAME", help="Name of the server and its pack.")
@click.option("--version", default=LATEST, show_default=True, help="Version in the registry.")
@click.option("--kind", type=click.Choice(KINDS), help="Kind of package, if the server has several.")
@click.option(
    "--env",
    multiple=True,
    callback=parse_pairs,
    metavar="NAME=VALUE",
    help="Value of a variable, a header or an argument.",
)
@click.option("--path", "paths", multiple=True, metavar="DIR", help="Path that the server wants.")
@click.option("--yes", is_flag=True, help="Skip confirmation.")
def install(name: str, pack: str | None, version: str, kind: str | None, yes: bool, **options: Any) -> None:
    """Add a server of the MCP registry. Shows what would run, and asks for secrets and paths.

    Nothing is started before you confirm. The version is pinned. Secrets are stored in secrets.yaml.

    \b
    Examples:
      onetool servers install io.github.modelcontextprotocol/filesystem
      onetool servers install io.github.owner/notes --as notes --env NOTES_TOKEN='${NOTES_TOKEN}' --yes
    """
    entry = read_entry(name, version)
    server = _choose_name(pack, entry)
    given = GivenValues(named=single_values(options["env"]), paths=options["paths"])
    planned = plan_installation(server, entry, kind, given)
    show_settings(planned.server)
    confirm_reviewed(f"Add {server} to {current_paths().config / SETTINGS_FILE}?", yes)
    with exit_on_edit_error(), exit_on_refusal():
        write_installation(current_paths(), server, planned)
    click.echo(f"Installed {server}. Start and test it: onetool servers test {server}", file=stdout())


def _show_found(found: FoundServers) -> None:
    from .tables import table

    rows = [
        (entry.name, entry.version, ", ".join(entry.kinds) or "-", _describe(entry))
        for entry in found.entries
    ]
    table(("NAME", "VERSION", "KIND", "DESCRIPTION"), rows)
    more = "" if found.is_complete else "There are more servers: add a word. "
    click.echo(f"\n{more}Review and install one: onetool servers install NAME", file=stdout())


def _choose_name(pack: str | None, entry: RegistryEntry) -> str:
    name = pack or entry.pack
    configured = load_current_configuration().settings.servers
    problem = find_name_problem(name, configured, set(reserved_names()))
    if problem and not re.fullmatch(IDENTIFIER, name):
        raise click.BadParameter(problem, param_hint="--as")
    if problem:
        raise click.UsageError(f"{problem} Choose another name with --as NAME.")
    return name


def _describe(entry: RegistryEntry) -> str:
    return entry.description if entry.status == "active" else f"[{entry.status}] {entry.description}"


def _to_json(entry: RegistryEntry) -> dict[str, Any]:
    return {
        "name": entry.name,
        "version": entry.version,
        "kinds": list(entry.kinds),
        "description": entry.description,
        "repository": entry.repository,
        "status": entry.status,
    }
