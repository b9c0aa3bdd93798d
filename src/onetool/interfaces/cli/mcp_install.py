"""`onetool mcp install` and `uninstall`: OneTool in the settings of an MCP client."""

import difflib
import json
import re
import shutil
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import click

from onetool.domain.secrets.detection import is_probably_secret, secret_arguments
from onetool.domain.servers.client_config import CLIENTS, HEADER_KEYS, URL_KEYS
from onetool.domain.text.strings import printable

from .command import confirm, has_terminal, load_current_configuration

if TYPE_CHECKING:
    from onetool.interfaces.mcp_clients import McpClient

TOML_VALUE = r'"""[\s\S]*?"{3,5}|' r"'''[\s\S]*?'{3,5}|" r'"(?:[^"\\\n]|\\.)*"|' r"'[^'\n]*'|" r"[^\s,}\]#]+"
OTHER_CLIENTS = {
    "claude": "Claude Desktop is claude-desktop. For Claude Code, run: claude mcp add onetool -- onetool mcp",
    "claude-code": "Claude Code has its own command: claude mcp add onetool -- onetool mcp",
}
"""Names that are guessed, and what to do instead."""


class _ClientName(click.Choice[str]):
    """The name of an MCP client. Guessed names are answered with the right command."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        if value in OTHER_CLIENTS:
            self.fail(OTHER_CLIENTS[value], param, ctx)
        return super().convert(value, param, ctx)


@click.command()
@click.argument("client", type=_ClientName(CLIENTS))
@click.option("--profile", metavar="NAME", help="Restrict the client to the tools of a profile.")
@click.option("--yes", is_flag=True, help="Skip confirmation.")
def install(client: str, profile: str | None, yes: bool) -> None:
    """Add OneTool to an MCP client's settings. Shows the change first and creates a backup.

    In a terminal, it also asks once how calls from MCP clients are approved. Nothing is written before the
    last answer.

    \b
    Examples:
      onetool mcp install claude-desktop
      onetool mcp install cursor --yes
      onetool mcp install cursor --profile research
    """
    from onetool.interfaces.mcp_clients import known_clients

    from .access import check_profile
    from .approval_policy import ask_for_mcp_policy, set_mcp_policy
    from .background import ask_for_background, start_background

    check_profile(profile)
    target = known_clients()[client]
    args = ["mcp", *(["--profile", profile] if profile else [])]
    with _exit_if_unreadable():
        after = target.with_server(shutil.which("onetool") or "onetool", args)
        if target.text() == after:
            click.echo(f"{target.file} already contains OneTool.")
            click.echo("How its calls are approved: onetool config get approval.mcp")
            return
        _show_change(target, after, yes=yes)
        settings, is_interactive = load_current_configuration().settings, not yes and has_terminal()
        policy = ask_for_mcp_policy(settings, is_interactive=is_interactive, profile=profile)
        is_background = is_interactive and bool(settings.servers) and ask_for_background()
        if policy:  # before the client can call
            set_mcp_policy(policy)
        _write_change(target, after)
    if is_background:
        start_background()
    click.echo(f"Restart {target.title} to apply the change.")


@click.command()
@click.argument("client", type=click.Choice(CLIENTS))
@click.option("--yes", is_flag=True, help="Skip confirmation.")
def uninstall(client: str, yes: bool) -> None:
    """Remove OneTool from an MCP client's settings. Shows the change first and creates a backup.

    Removes every entry that starts `onetool mcp`, also with --only or --profile. The settings and tools of
    OneTool stay.

    \b
    Examples:
      onetool mcp uninstall claude-desktop
      onetool mcp uninstall cursor --yes
    """
    from onetool.interfaces.mcp_clients import known_clients

    target = known_clients()[client]
    with _exit_if_unreadable():
        names = target.onetool_entries()
        if not names:
            click.echo(f"{target.file} does not contain OneTool.")
            return
        after = target.without_servers(names)
        _show_change(target, after, yes=yes)
        _write_change(target, after)
    click.echo(f"Removed {', '.join(map(printable, names))}. Restart {target.title} to apply the change.")


@contextmanager
def _exit_if_unreadable() -> Iterator[None]:
    from onetool.interfaces.mcp_clients import UnreadableClientConfig

    try:
        yield
    except UnreadableClientConfig as error:
        click.echo(f"Error: {error}. The file is unchanged.", err=True)
        raise SystemExit(1) from None


def _show_change(target: "McpClient", after: str, *, yes: bool) -> None:
    """Show a change of a client's file, and ask for confirmation."""
    servers = target.servers()
    secrets, names = _possible_secrets(servers), _secret_names(servers)
    old, new = (_mask_values(secrets, _mask_toml(names, text)) for text in (target.text(), after))
    click.echo("".join(_diff(old, new, str(target.file))), nl=False)
    if not yes:
        confirm("Write this change?")


def _write_change(target: "McpClient", after: str) -> None:
    backup = target.write(after)
    click.echo(f"Wrote {target.file}." + (f" Backup: {backup}" if backup else ""))


def _possible_secrets(servers: Mapping[str, Any]) -> set[str]:
    """Return the values in a client's file that may be secrets: env, headers, URLs, arguments."""
    entries = [entry for entry in servers.values() if isinstance(entry, dict)]
    values = {str(value) for map_ in _secret_maps(servers) for value in map_.values()}
    arguments = [list(map(str, entry["args"])) for entry in entries if isinstance(entry.get("args"), list)]
    urls = {str(entry[key]) for entry in entries for key in URL_KEYS if key in entry}
    secret_urls = {url for url in urls if is_probably_secret("", url)}
    return values.union(secret_urls, *(args for args in arguments if any(secret_arguments(args)))) - {""}


def _secret_names(servers: Mapping[str, Any]) -> set[str]:
    """Return the names of the variables and headers in a client's file."""
    return {str(name) for map_ in _secret_maps(servers) for name in map_}


def _secret_maps(servers: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    entries = [entry for entry in servers.values() if isinstance(entry, dict)]
    maps = [entry.get(key) for entry in entries for key in ("env", *HEADER_KEYS)]
    return [map_ for map_ in maps if isinstance(map_, dict)]


def _mask_values(values: Collection[str], text: str) -> str:
    for value in values:
        for literal in (json.dumps(value), json.dumps(value, ensure_ascii=False), f"'{value}'"):
            text = text.replace(literal, '"***"')
    return text


def _mask_toml(names: Collection[str], text: str) -> str:
    """Return the text with masked values of these keys, however TOML writes them."""
    for name in names:
        key = rf"""(?<![\w-])(?P<quote>["']?){re.escape(name)}(?P=quote)[ \t]*=[ \t]*"""
        text = re.sub(rf"({key})(?:{TOML_VALUE})", r'\1"***"', text)
    return text


def _diff(before: str, after: str, name: str) -> list[str]:
    return list(
        difflib.unified_diff(before.splitlines(True), after.splitlines(True), name, f"{name} (new)", n=0)
    )
