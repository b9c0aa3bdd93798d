"""What `onetool init` asks a person: about servers of other programs, and about tools that change things."""

from collections.abc import Iterator, Mapping
from typing import Any

import click

from onetool.domain.client_servers import NotAdopted, adopt
from onetool.domain.secrecy import shown_server
from onetool.domain.texts import cut
from onetool.settings.editing import add_entries
from onetool.settings.schema import Settings

from .clients import NAME, Client, Unreadable, known_clients
from .edits import edit_settings
from .servers_edit import take_over
from .session import answers

LONGEST_SHOWN = 60


def offer_servers(settings: Settings) -> None:
    """Show which MCP servers other programs use, and take them over if the person wants that."""
    listed = {client: list(_rows(client, settings.servers)) for client in known_clients().values()}
    found = {client: rows for client, rows in listed.items() if rows}
    if not found:
        return
    from .screen import table

    rows = [row for some in found.values() for row in some]
    click.echo("\nPrograms on this machine use MCP servers that OneTool can call too:\n")
    table(("CLIENT", "SERVER", "WHERE"), rows)
    click.echo(
        "\nTaking them over copies them into onetool.yaml, and what looks like a secret into secrets.yaml."
        "\nThe programs keep theirs. No server is started before one of its tools is wanted.",
    )
    if click.confirm(f"Take over {_number(len(rows))}?", default=False):
        for client in found:
            take_over(client, yes=True)


def offer_approval(settings: Settings) -> None:
    """Say how tools that change things are treated, and let the person change that once."""
    if settings.approval.allow or settings.approval.deny:
        return
    click.echo(
        "\nSome tools change things: they write files, send messages. When a model wants one of them in"
        "\n`onetool ask` or in the chat, it waits for your yes. What you call yourself never asks, and an"
        "\nMCP client asks in its own way.",
        file=answers(),
    )
    if not click.confirm("Ask before a model changes things?", default=True):
        edit_settings(lambda file, text: add_entries(file, text, "approval", {"allow": ["*"]}))
        click.echo("Written: approval.allow in onetool.yaml. Take it out to be asked again.", file=answers())


def _rows(client: Client, known: Mapping[str, Any]) -> Iterator[tuple[str, str, str]]:
    """The servers of a client that could be taken over; a file that cannot be read offers none."""
    try:
        servers = client.servers()
    except Unreadable:
        return
    for name, said in servers.items():
        try:
            adopted = adopt(name, said)
            server = adopted.server
            where = shown_server(server.get("url"), server.get("command"), server.get("args", ()))
        except (NotAdopted, ValueError):  # it can be looked at with `onetool servers import`
            continue
        if name != NAME and adopted.name not in known:
            yield client.name, name, cut(where, LONGEST_SHOWN)


def _number(count: int) -> str:
    return "this server" if count == 1 else f"these {count} servers"
