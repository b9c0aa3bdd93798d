"""`onetool servers add | remove | import`: servers written into the user's settings, and out of them."""

import re
import shutil
from collections.abc import Iterable, Mapping
from typing import Any

import click

from onetool.domain.client_servers import CLIENTS, Adopted, NotAdopted, adopt, notes_on
from onetool.domain.secrecy import looks_secret
from onetool.domain.texts import counted
from onetool.settings.configuration import SECRETS_FILE, SETTINGS_FILE
from onetool.settings.editing import add_entries, remove_entry
from onetool.settings.schema import Server

from .clients import NAME, Client, Unreadable, known_clients
from .completion import server_names
from .edits import edit_settings
from .session import answers, confirm, find, load, masked, with_runtime

MAP = "servers"
PAIR = re.compile(r"([^\s:=]+)=(.*)", re.DOTALL)


def _pairs(context: click.Context, option: click.Parameter, values: tuple[str, ...]) -> dict[str, str]:
    """Read NAME=VALUE; what is written otherwise may be a secret, and is not repeated."""
    pairs = [PAIR.fullmatch(value) for value in values]
    if not all(pairs):
        raise click.UsageError(f"{option.opts[0]} takes NAME=VALUE.", context)
    return {pair[1]: pair[2] for pair in pairs if pair}


@click.command()
@click.argument("name")
@click.argument("command", nargs=-1)
@click.option("--url", help="Where the server is served, in place of a COMMAND.")
@click.option("--env", multiple=True, callback=_pairs, metavar="NAME=VALUE", help="Give it a variable.")
@click.option("--header", multiple=True, callback=_pairs, metavar="NAME=VALUE", help="Send it a header.")
@click.option("--include", multiple=True, metavar="PATTERN", help="Show only these of its tools.")
@click.option("--exclude", multiple=True, metavar="PATTERN", help="Hide these of its tools.")
def add(name: str, command: tuple[str, ...], url: str | None, **more: Any) -> None:
    """Add a server under NAME: a COMMAND to start, or a --url. ${NAME} in a value stands for a secret.

    \b
    Examples:
      onetool servers add files -- npx -y @modelcontextprotocol/server-filesystem .
      onetool servers add github --url https://api.githubcopilot.com/mcp/ \\
          --header 'Authorization=Bearer ${GITHUB_TOKEN}'
    """
    if bool(command) == bool(url):
        raise click.UsageError("Give either a command after -- or a --url.")
    readable = [
        key
        for key, value in {**more["env"], **more["header"]}.items()
        if "${" not in value and looks_secret(key, value)
    ]
    if readable:
        raise click.UsageError(
            f"{readable[0]!r} looks like a secret, and settings are no place for one. "
            f"Put it into {find().config / SECRETS_FILE} and write {readable[0]}='${{NAME}}'."
        )
    entry: dict[str, Any] = {"url": url} if url else {"command": command[0], "args": list(command[1:])}
    entry |= {"env": more["env"], "headers": more["header"]}
    entry |= {"include": list(more["include"]), "exclude": list(more["exclude"])}
    written = {key: value for key, value in entry.items() if value}
    _check_free([name])
    edit_settings(lambda file, text: add_entries(file, text, MAP, {name: written}))
    _note(name, notes_on(written))
    _say(f"Added {name}. Try it: onetool servers test {name}")


@click.command()
@click.argument("name", shell_complete=server_names)
def remove(name: str) -> None:
    """Take the server NAME out of the settings.

    \b
    Example:
      onetool servers remove github
    """
    edit_settings(lambda file, text: remove_entry(file, text, MAP, name))
    _say(f"Removed {name}.")


@click.command("import")
@click.argument("client", type=click.Choice(CLIENTS))
@click.option("--move", is_flag=True, help="Also take them out of the client and put OneTool in their place.")
@click.option("--yes", is_flag=True, help="Do not ask.")
def import_servers(client: str, move: bool, yes: bool) -> None:
    """Take over the MCP servers of a CLIENT; what looks like a secret goes to the secrets file.

    \b
    Examples:
      onetool servers import claude
      onetool servers import cursor --move
    """
    if not take_over(known_clients()[client], move=move, yes=yes):
        raise SystemExit(1)


def take_over(client: Client, *, move: bool = False, yes: bool = False) -> bool:
    """Write a client's servers into our settings; return whether none had to be left."""
    try:
        found = {name: said for name, said in client.servers().items() if name != NAME}
    except Unreadable as error:
        raise click.ClickException(f"{error}. Nothing was changed.") from None
    adopted, there, left = _adopt(found)
    moving = there | adopted.keys() if move else set()
    if adopted:
        _write(adopted, yes=yes)
    elif moving and not yes:
        confirm(f"Take {counted(len(moving), 'server')} out of {client.file}?")
    elif not moving:
        is_there = client.file.exists()
        _say(f"{client.file} {'has no servers' if is_there else 'does not exist: nothing'} to take over.")
    if moving:
        _move(client, moving)
    return not left


def _write(adopted: Mapping[str, Adopted], *, yes: bool) -> None:
    if not yes:
        confirm(f"Write {counted(len(adopted), 'server')} into {find().config / SETTINGS_FILE}?")
    secrets = {key: value for one in adopted.values() for key, value in one.secrets.items()}
    entries = {one.name: one.server for one in adopted.values()}
    edit_settings(lambda file, text: add_entries(file, text, MAP, entries), secrets)
    _say(f"Took over {counted(len(adopted), 'server')}. Try: onetool servers test")


def _say(text: str) -> None:
    click.echo(masked(text), file=answers())


def _note(name: str, notes: Iterable[str]) -> None:
    for note in notes:
        click.echo(masked(f"  note   {name}: {note}"), err=True)


def _adopt(found: Mapping[str, Any]) -> tuple[dict[str, Adopted], set[str], list[str]]:
    """Say what can be taken over, what is here already and what cannot come, by its name at the client."""
    configuration = load()
    known = configuration.settings.servers
    taken, secrets = {*_packs(), *known}, set(configuration.secrets)
    adopted: dict[str, Adopted] = {}
    there: set[str] = set()
    left: list[str] = []
    for name, said in found.items():
        try:
            one = adopt(name, said, taken=taken - known.keys(), secrets=secrets)
        except NotAdopted as error:
            left.append(name)
            click.echo(masked(f"  left   {name}: {error}"), err=True)
            continue
        if one.name in known:
            is_same = _is_same(one.server, known[one.name])
            there |= {name} if is_same else set()
            click.echo(
                masked(f"  there  {name}{'' if is_same else ', but not the same: it stays'}"), err=True
            )
            continue
        adopted[name] = one
        taken.add(one.name)
        secrets |= one.secrets.keys()
        moved = f"  (secrets: {', '.join(one.secrets)})" if one.secrets else ""
        click.echo(masked(f"  take   {name} as {one.name}{moved}"), err=True)
        _note(name, one.notes)
    return adopted, there, left


def _is_same(entry: Mapping[str, Any], known: Server) -> bool:
    """Whether an entry of a client starts or reaches what we have; secrets have other names here."""
    ours = (known.command, known.url, len(known.args))
    return (entry.get("command"), entry.get("url"), len(entry.get("args", ()))) == ours


def _packs() -> Iterable[str]:
    """Names that a server cannot have, because something of ours has them."""

    async def ask(runtime: Any) -> set[str]:
        return set(await runtime.catalog.packs()) - set(runtime.servers)

    return with_runtime(ask)


def _check_free(names: Iterable[str]) -> None:
    if taken := set(names) & set(_packs()):
        raise click.BadParameter(f"there is a pack {min(taken)!r} already: take another name.")


def _move(client: Client, names: set[str]) -> None:
    try:
        text = client.with_server(shutil.which("onetool") or "onetool", ["mcp"], without=names)
    except Unreadable as error:
        raise click.ClickException(f"{error}. The client's file is left as it is.") from None
    backup = client.write(text)
    _say(f"{client.file} now starts OneTool in their place. The file as it was: {backup}")
    _say(f"Restart {client.name} to see it.")
