"""`onetool servers add | remove | import`: edit the servers in the user's settings."""

import os
import re
import shlex
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import click

from onetool.domain.secrets.detection import is_probably_secret, mask_arguments, mask_credentials
from onetool.domain.secrets.redaction import MASK
from onetool.domain.servers.client_config import CLIENTS, import_warnings
from onetool.domain.text.strings import escape_invisible, pluralize
from onetool.interfaces.mcp_clients import (
    NAME,
    McpClient,
    UnreadableClientConfig,
    known_clients,
    replace_with_onetool,
)
from onetool.interfaces.server_settings.editor import remove_server
from onetool.interfaces.server_settings.import_plan import (
    SECTION,
    PlannedServer,
    make_paths_absolute,
    plan_import,
    write_import,
)
from onetool.interfaces.server_settings.path_grants import describe_grants, path_settings
from onetool.settings.documents import SETTINGS_FILE
from onetool.settings.trust_effects import SECRET
from onetool.settings.yaml_editor import add_entries

from .command import confirm, current_paths, load_current_configuration, mask, stdout, with_runtime
from .completion import server_names
from .config_files import edit_settings, exit_on_edit_error

PAIR = re.compile(r"([^\s:=]+)=(.*)", re.DOTALL)


def parse_pairs(context: click.Context, option: click.Parameter, values: tuple[str, ...]) -> dict[str, str]:
    """Parse NAME=VALUE options. The error omits the value: it may be a secret."""
    pairs = [PAIR.fullmatch(value) for value in values]
    if not all(pairs):
        raise click.UsageError(f"{option.opts[0]} requires NAME=VALUE.", context)
    return {pair[1]: pair[2] for pair in pairs if pair}


class _CommandAfterName(click.Command):
    """Treats everything after NAME and the first word of COMMAND as the command, also without `--`."""

    def parse_args(self, context: click.Context, args: list[str]) -> list[str]:
        """Insert `--` before the command."""
        return super().parse_args(context, self._separate(args))

    def _separate(self, args: list[str]) -> list[str]:
        options = [param for param in self.params if isinstance(param, click.Option) and not param.is_flag]
        has_value = {name for option in options for name in option.opts}
        words, index = 0, 0
        while index < len(args) and args[index] != "--":
            words += not args[index].startswith("-")
            if words == 2:
                return [*args[:index], "--", *args[index:]]
            index += 2 if args[index] in has_value else 1
        return args


@click.command(cls=_CommandAfterName)
@click.argument("name")
@click.argument("command", nargs=-1)
@click.option("--url", help="URL of a remote server, instead of COMMAND.")
@click.option(
    "--env", multiple=True, callback=parse_pairs, metavar="NAME=VALUE", help="Environment variable."
)
@click.option("--header", multiple=True, callback=parse_pairs, metavar="NAME=VALUE", help="HTTP header.")
@click.option(
    "--include",
    multiple=True,
    metavar="PATTERN",
    help="Use only tools whose names match PATTERN, for example read_*.",
)
@click.option("--exclude", multiple=True, metavar="PATTERN", help="Hide tools whose names match PATTERN.")
@click.option("--read", multiple=True, metavar="PATH", help="Let the command read a file or directory.")
@click.option("--write", multiple=True, metavar="PATH", help="Let the command read and change it.")
@click.option("--cwd", help="Working directory of the command.")
@click.option("--no-network", is_flag=True, help="Keep the command from using the network.")
@click.option("--no-sandbox", is_flag=True, help="Run the command with all your rights.")
def add(name: str, command: tuple[str, ...], url: str | None, **options: Any) -> None:
    """Add a server: a COMMAND to start, or a --url to connect to.

    ${NAME} in a value refers to a secret. Repeat options to pass several values. The command runs in a
    sandbox. It can access paths that it names, and those of --read and --write.

    \b
    Examples:
      onetool servers add files npx -y @modelcontextprotocol/server-filesystem .
      onetool servers add github --url https://api.githubcopilot.com/mcp/ \\
          --header 'Authorization=Bearer ${GITHUB_TOKEN}'
    """
    if bool(command) == bool(url):
        raise click.UsageError("Pass either a command or --url.")
    secrets = [
        key
        for key, value in {**options["env"], **options["header"]}.items()
        if "${" not in value and is_probably_secret(key, value)
    ]
    if secrets:
        raise click.UsageError(
            f"{secrets[0]!r} looks like a secret. Settings must not contain secrets. Store it with: "
            f"onetool secrets set NAME\nThen pass {secrets[0]}='${{NAME}}'."
        )
    entry: dict[str, Any] = {"url": url}
    if command:
        entry = make_paths_absolute({"command": command[0], "args": list(command[1:])})
    entry |= {"env": options["env"], "headers": options["header"]}
    entry |= {"include": list(options["include"]), "exclude": list(options["exclude"])}
    if command and not options["no_sandbox"]:
        entry["paths"] = path_settings(command[0], entry["args"], options["read"], options["write"])
    entry["cwd"] = str(Path(options["cwd"]).absolute()) if options["cwd"] else ""
    entry = {key: value for key, value in entry.items() if value}
    entry |= {"network": False} if options["no_network"] else {}
    entry |= {"sandbox": False} if options["no_sandbox"] else {}
    _check_available(name)
    edit_settings(lambda file, text: add_entries(file, text, SECTION, {name: entry}))
    _print_notes(name, import_warnings(entry))
    _print_notes(name, _command_notes(entry.get("args", ())))
    for grant in describe_grants(entry):
        _print(f"{name} {grant}")
    _print(f"Added {name}. Test it with: onetool servers test {name}")


def _command_notes(args: Iterable[str]) -> Iterator[str]:
    """Yield a note for each argument that the user may have meant differently."""
    ours = {name for param in add.params for name in param.opts if name.startswith("--")}
    for word in args:
        if word.partition("=")[0] in ours:
            yield f"{word.partition('=')[0]} is passed to the command; options of `servers add` precede it"
        elif "/" not in word and os.path.isdir(word):  # noqa: PTH112 - False for a word too long for a path
            yield f"{word!r} is passed as it is; for the directory, remove the server and pass ./{word}"


@click.command()
@click.argument("name", shell_complete=server_names)
def remove(name: str) -> None:
    """Remove a server from the settings.

    \b
    Example:
      onetool servers remove github
    """
    with exit_on_edit_error():
        remove_server(current_paths(), name)
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
    planned = _plan(servers)
    new = [server for server in planned if server.status == "new"]
    usable = {server.source_name for server in planned if server.status in ("new", "exists")}
    moved = usable if move else set()
    if new:
        _write(new, yes=yes)
    elif moved and not yes:
        confirm(f"Remove {pluralize(len(moved), 'server')} from {client.file}?")
    elif not moved:
        missing = "" if client.file.exists() else ", which does not exist"
        _print(f"No servers to import from {client.file}{missing}.")
    if moved:
        _replace_in_client(client, moved)
    return all(server.status != "unsupported" for server in planned)


def import_entries(entries: Mapping[str, Any], origin: str, *, yes: bool = False) -> bool:
    """Import server entries in the usual form, and return whether all of them are supported."""
    planned = _plan({name: entry for name, entry in entries.items() if name != NAME})
    if new := [server for server in planned if server.status == "new"]:
        _write(new, yes=yes)
    else:
        _print(f"No servers to import from {origin}.")
    return all(server.status != "unsupported" for server in planned)


def _write(new: Sequence[PlannedServer], *, yes: bool) -> None:
    if not yes:
        confirm(f"Add {pluralize(len(new), 'server')} to {current_paths().config / SETTINGS_FILE}?")
    with exit_on_edit_error():
        write_import(current_paths(), new)
    _print(f"Imported {pluralize(len(new), 'server')}. Test with: onetool servers test")


def _print(text: str) -> None:
    click.echo(mask(text), file=stdout())


def _report(label: str, text: str) -> None:
    click.echo(mask(f"  {label:<9}{escape_invisible(text)}"), err=True)


def _print_notes(name: str, notes: Iterable[str]) -> None:
    for note in notes:
        _report("note", f"{name}: {note}")


def _plan(servers: Mapping[str, Any]) -> list[PlannedServer]:
    """Return what an import would write, and report it."""
    planned = plan_import(servers, load_current_configuration(), reserved_names())
    for server in planned:
        _report_planned(server)
    return planned


def _report_planned(server: PlannedServer) -> None:
    if server.status == "unsupported":
        _report("skipped", f"{server.source_name}: {server.problem}")
    elif server.status == "new":
        names = f"  (secrets: {', '.join(server.secrets)})" if server.secrets else ""
        _report("import", f"{server.source_name} as {server.name}{names}")
        for label, text in _describe(server):
            _report(label, text)
        _print_notes(server.source_name, server.notes)
    else:
        differs = ": configured differently; unchanged" if server.status == "differs" else ""
        _report("exists", f"{server.source_name}{differs}")


def _describe(server: PlannedServer) -> Iterator[tuple[str, str]]:
    """Yield labels and what would start or be reached, with which values. Secrets are masked."""
    settings = server.settings
    if "command" in settings:
        args = mask_arguments(settings.get("args", ()), MASK)
        yield "starts", shlex.join([settings["command"], *args])
    else:
        yield "reaches", mask_credentials(settings["url"], MASK)
    if settings.get("cwd"):
        yield "in", settings["cwd"]
    for label, key in (("variable", "env"), ("header", "headers")):
        for name, value in settings.get(key, {}).items():
            used = [secret for secret in SECRET.findall(value) if secret not in server.secrets]
            note = f"  (inserts your secret {', '.join(used)})" if used else ""
            yield label, f"{name} = {mask_credentials(value, MASK, name)}{note}"


def reserved_names() -> set[str]:
    """Return the names of packs that are not servers."""

    async def list_packs(runtime: Any) -> set[str]:
        return set(await runtime.state.catalog.packs()) - set(runtime.state.servers)

    return with_runtime(list_packs)


def _check_available(name: str) -> None:
    if name in load_current_configuration().settings.servers:
        raise click.BadParameter(f"server {name!r} already exists. Remove it: onetool servers remove {name}")
    if name in reserved_names():
        raise click.BadParameter(f"a pack {name!r} already exists. Choose another name.")


def _replace_in_client(client: McpClient, names: set[str]) -> None:
    try:
        backup = replace_with_onetool(client, names)
    except UnreadableClientConfig as error:
        raise click.ClickException(f"{error}. The client's file is unchanged.") from None
    _print(f"Replaced {pluralize(len(names), 'server')} with OneTool in {client.file}. Backup: {backup}")
    _print(f"Restart {client.title} to apply the change.")
