"""Prompts of `onetool init`: import servers of other programs, require approval."""

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

import click

from onetool.domain.secrets.detection import redact_server
from onetool.domain.servers.client_config import UnsupportedServer, import_server
from onetool.domain.text.strings import truncate_middle
from onetool.interfaces.mcp_clients import NAME, McpClient, UnreadableClientConfig, known_clients
from onetool.settings.schema import Settings
from onetool.settings.yaml_editor import add_entries

from .approval_policy import ask_for_mcp_policy, set_mcp_policy
from .background import ask_for_background, start_background
from .command import stdout
from .config_files import edit_settings
from .servers_config import import_into_settings

MAX_SHOWN_LENGTH = 60


class InitAnswers(NamedTuple):
    """What the user answered. Nothing is written before the last answer."""

    clients: tuple[McpClient, ...]
    """The MCP clients whose servers are imported."""
    needs_approval: bool
    """Whether tools that are not read-only require approval."""
    is_background: bool
    mcp_policy: str | None


def ask(settings: Settings) -> InitAnswers:
    """Ask all questions."""
    clients = _ask_for_servers(settings)
    needs_approval = _ask_for_approval(settings)
    is_background = bool(clients) and ask_for_background()
    policy = ask_for_mcp_policy(settings, is_interactive=True) if needs_approval else None
    return InitAnswers(clients, needs_approval, is_background, policy)


def apply(answers: InitAnswers) -> None:
    """Write what the user answered."""
    if not answers.needs_approval:
        edit_settings(lambda file, text: add_entries(file, text, "approval", {"allow": ["*"]}))
        click.echo("Set approval.allow in onetool.yaml. Remove it to require approval again.", file=stdout())
    if answers.mcp_policy:
        set_mcp_policy(answers.mcp_policy)
    for client in answers.clients:
        import_into_settings(client, yes=True)
    if answers.is_background:
        start_background()


def _ask_for_servers(settings: Settings) -> tuple[McpClient, ...]:
    """List the MCP servers of other programs, and return the clients whose servers are imported."""
    listed = {client: list(_rows(client, settings.servers)) for client in known_clients().values()}
    importable = {client: rows for client, rows in listed.items() if rows}
    if not importable:
        return ()
    from .tables import table

    rows = [row for client_rows in importable.values() for row in client_rows]
    click.echo("\nOther programs on this machine use these MCP servers:\n")
    table(("CLIENT", "SERVER", "ENDPOINT"), rows)
    click.echo(
        "\nImporting copies them to onetool.yaml and their secrets to secrets.yaml. The programs are not"
        "\nchanged. A server starts when one of its tools is first used.",
    )
    is_confirmed = click.confirm(f"Import {_format_count(len(rows))}?", default=False)
    return tuple(importable) if is_confirmed else ()


def _ask_for_approval(settings: Settings) -> bool:
    """Explain the approval of tools that are not read-only, and return whether it is required."""
    if settings.approval.allow or settings.approval.deny:
        return True
    click.echo(
        "\nTools that are not read-only write files or send messages, for example. In `onetool ask` and in"
        "\nthe chat, a model needs your approval to call them. Calls that you make yourself need none.",
        file=stdout(),
    )
    return click.confirm("Require approval for tools that are not read-only?", default=True)


def _rows(client: McpClient, configured: Mapping[str, Any]) -> Iterator[tuple[str, str, str]]:
    """Yield the servers of a client that can be imported; none if its file cannot be read."""
    try:
        servers = client.servers()
    except UnreadableClientConfig:
        return
    for name, entry in servers.items():
        try:
            imported = import_server(name, entry)
            server = imported.server
            endpoint = redact_server(server.get("url"), server.get("command"), server.get("args", ()))
        except UnsupportedServer:  # `onetool servers import` reports the reason
            continue
        if name != NAME and imported.name not in configured:
            yield client.name, name, truncate_middle(endpoint, MAX_SHOWN_LENGTH)


def _format_count(count: int) -> str:
    return "this server" if count == 1 else f"these {count} servers"
