"""`onetool servers add | remove | import`: edit the servers in the user's settings."""

import re
import shutil
from collections.abc import Iterable, Mapping
from typing import Any

import click

from onetool.domain.secrets.detection import is_probably_secret
from onetool.domain.servers.client_config import (
    CLIENTS,
    ImportedServer,
    UnsupportedServer,
    import_server,
    import_warnings,
)
from onetool.domain.text.strings import pluralize
from onetool.settings.configuration import SECRETS_FILE, SETTINGS_FILE
from onetool.settings.schema import ServerSettings
from onetool.settings.yaml_editor import add_entries, remove_entry

from .command import confirm, current_paths, load_current_configuration, mask, stdout, with_runtime
from .completion import server_names
from .config_files import edit_settings
from .mcp_clients import NAME, McpClient, UnreadableClientConfig, known_clients

SECTION = "servers"
PAIR = re.compile(r"([^\s:=]+)=(.*)", re.DOTALL)


def _parse_pairs(context: click.Context, option: click.Parameter, values: tuple[str, ...]) -> dict[str, str]:
    """Parse NAME=VALUE options. The error omits the value: it may be a secret."""
    pairs = [PAIR.fullmatch(value) for value in values]
    if not all(pairs):
        raise click.UsageError(f"{option.opts[0]} requires NAME=VALUE.", context)
    return {pair[1]: pair[2] for pair in pairs if pair}


@click.command()
@click.argument("name")
@click.argument("command", nargs=-1)
@click.option("--url", help="URL of a remote server, instead of COMMAND.")
@click.option(
    "--env", multiple=True, callback=_parse_pairs, metavar="NAME=VALUE", help="Environment variable."
)
@click.option("--header", multiple=True, callback=_parse_pairs, metavar="NAME=VALUE", help="HTTP header.")
@click.option(
    "--include",
    multiple=True,
    metavar="PATTERN",
    help="Use only tools whose names match PATTERN, for example read_*.",
)
@click.option("--exclude", multiple=True, metavar="PATTERN", help="Hide tools whose names match PATTERN.")
def add(name: str, command: tuple[str, ...], url: str | None, **options: Any) -> None:
    """Add a server: a COMMAND to start, or a --url to connect to.

    ${NAME} in a value refers to a secret. Repeat options to pass several values.

    \b
    Examples:
      onetool servers add files -- npx -y @modelcontextprotocol/server-filesystem .
      onetool servers add github --url https://api.githubcopilot.com/mcp/ \\
          --header 'Authorization=Bearer ${GITHUB_TOKEN}'
    """
    if bool(command) == bool(url):
        raise click.UsageError("Pass either a command after -- or --url.")
    secrets = [
        key
        for key, value in {**options["env"], **options["header"]}.items()
        if "${" not in value and is_probably_secret(key, value)
    ]
    if secrets:
        raise click.UsageError(
            f"{secrets[0]!r} looks like a secret. Settings must not contain secrets: add it to "
            f"{current_paths().config / SECRETS_FILE} and pass {secrets[0]}='${{NAME}}'."
        )
    entry: dict[str, Any] = {"url": url} if url else {"command": command[0], "args": list(command[1:])}
    entry |= {"env": options["env"], "headers": options["header"]}
    entry |= {"include": list(options["include"]), "exclude": list(options["exclude"])}
    entry = {key: value for key, value in entry.items() if value}
    _check_available(name)
    edit_settings(lambda file, text: add_entries(file, text, SECTION, {name: entry}))
    _print_notes(name, import_warnings(entry))
    _print(f"Added {name}. Test it with: onetool servers test {name}")


@click.command()
@click.argument("name", shell_complete=server_names)
def remove(name: str) -> None:
    """Remove a server from the settings.

    \b
    Example:
      onetool servers remove github
    """
    edit_settings(lambda file, text: remove_entry(file, text, SECTION, name))
    _print(f"Removed {name}.")


@click.command("import")
@click.argument("client", type=click.Choice(CLIENTS))
@click.option("--move", is_flag=True, help="Also replace them with OneTool in the client's settings.")
@click.option("--yes", is_flag=True, help="Skip confirmation.")
def import_servers(client: str, move: bool, yes: bool) -> None:
    """Import servers from an MCP client. Stores their secrets in secrets.yaml.

    \b
    Examples:
      onetool servers import claude-desktop
      onetool servers import cursor --move
    """
    if not import_into_settings(known_clients()[client], move=move, yes=yes):
        raise SystemExit(1)


def import_into_settings(client: McpClient, *, move: bool = False, yes: bool = False) -> bool:
    """Import a client's servers into the settings and return whether all of them are supported."""
    try:
        servers = {name: entry for name, entry in client.servers().items() if name != NAME}
    except UnreadableClientConfig as error:
        raise click.ClickException(f"{error}. Nothing was changed.") from None
    imported, existing, unsupported = _classify(servers)
    moved = existing | imported.keys() if move else set()
    if imported:
        _write(imported, yes=yes)
    elif moved and not yes:
        confirm(f"Remove {pluralize(len(moved), 'server')} from {client.file}?")
    elif not moved:
        missing = "" if client.file.exists() else ", which does not exist"
        _print(f"No servers to import from {client.file}{missing}.")
    if moved:
        _replace_in_client(client, moved)
    return not unsupported


def _write(imported: Mapping[str, ImportedServer], *, yes: bool) -> None:
    if not yes:
        confirm(f"Add {pluralize(len(imported), 'server')} to {current_paths().config / SETTINGS_FILE}?")
    secrets = {key: value for server in imported.values() for key, value in server.secrets.items()}
    entries = {server.name: server.server for server in imported.values()}
    edit_settings(lambda file, text: add_entries(file, text, SECTION, entries), secrets)
    _print(f"Imported {pluralize(len(imported), 'server')}. Test with: onetool servers test")


def _print(text: str) -> None:
    click.echo(mask(text), file=stdout())


def _report(label: str, text: str) -> None:
    click.echo(mask(f"  {label:<9}{text}"), err=True)


def _print_notes(name: str, notes: Iterable[str]) -> None:
    for note in notes:
        _report("note", f"{name}: {note}")


def _classify(servers: Mapping[str, Any]) -> tuple[dict[str, ImportedServer], set[str], list[str]]:
    """Return the servers to import, the existing and the unsupported ones, by their names in the client."""
    configuration = load_current_configuration()
    configured = configuration.settings.servers
    taken, secrets = {*_reserved_names(), *configured}, set(configuration.secrets)
    imported: dict[str, ImportedServer] = {}
    existing: set[str] = set()
    unsupported: list[str] = []
    for name, entry in servers.items():
        try:
            server = import_server(name, entry, taken=taken - configured.keys(), secrets=secrets)
        except UnsupportedServer as error:
            unsupported.append(name)
            _report("skipped", f"{name}: {error}")
            continue
        if server.name in configured:
            is_same = _is_same(server.server, configured[server.name])
            existing |= {name} if is_same else set()
            _report("exists", name if is_same else f"{name}: configured differently; unchanged")
            continue
        imported[name] = server
        taken.add(server.name)
        secrets |= server.secrets.keys()
        names = f"  (secrets: {', '.join(server.secrets)})" if server.secrets else ""
        _report("import", f"{name} as {server.name}{names}")
        _print_notes(name, server.warnings)
    return imported, existing, unsupported


def _is_same(entry: Mapping[str, Any], configured: ServerSettings) -> bool:
    """Return whether a client's entry starts or reaches the configured server.

    Environment and headers are not compared, because import replaces their secrets.
    """
    ours = (configured.command, configured.url, [_without_names(text) for text in configured.args])
    theirs = [_without_names(text) for text in entry.get("args", ())]
    return (entry.get("command"), entry.get("url"), theirs) == ours


def _without_names(text: str) -> str:
    """Remove the names of secrets, which two imports of the same server may choose differently."""
    return re.sub(r"\$\{\w+\}", "${}", text)


def _reserved_names() -> Iterable[str]:
    """Return the names of packs that are not servers."""

    async def list_packs(runtime: Any) -> set[str]:
        return set(await runtime.state.catalog.packs()) - set(runtime.state.servers)

    return with_runtime(list_packs)


def _check_available(name: str) -> None:
    if name in _reserved_names():
        raise click.BadParameter(f"a pack {name!r} already exists. Choose another name.")


def _replace_in_client(client: McpClient, names: set[str]) -> None:
    try:
        text = client.with_server(shutil.which("onetool") or "onetool", ["mcp"], without=names)
    except UnreadableClientConfig as error:
        raise click.ClickException(f"{error}. The client's file is unchanged.") from None
    backup = client.write(text)
    _print(f"Replaced {pluralize(len(names), 'server')} with OneTool in {client.file}. Backup: {backup}")
    _print(f"Restart {client.title} to apply the change.")
