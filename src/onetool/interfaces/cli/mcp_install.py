"""`onetool mcp install`: add OneTool to the settings of an MCP client."""

import difflib
import json
import shutil
from collections.abc import Collection, Mapping
from typing import Any

import click

from onetool.domain.secrets.detection import is_probably_secret, secret_arguments
from onetool.domain.servers.client_config import CLIENTS, HEADER_KEYS, URL_KEYS

from .command import confirm, has_terminal, load_current_configuration


@click.command()
@click.argument("client", type=click.Choice(CLIENTS))
@click.option("--profile", metavar="NAME", help="Restrict the client to the tools of a profile.")
@click.option("--yes", is_flag=True, help="Skip confirmation.")
def install(client: str, profile: str | None, yes: bool) -> None:
    """Add OneTool to an MCP client's settings. Shows the change first and creates a backup.

    In a terminal, it also asks once how calls from MCP clients are approved.

    \b
    Examples:
      onetool mcp install claude-desktop
      onetool mcp install cursor --yes
      onetool mcp install cursor --profile research
    """
    from onetool.interfaces.mcp_clients import UnreadableClientConfig, known_clients

    from .access import check_profile
    from .approval_policy import choose_mcp_policy

    check_profile(profile)
    target = known_clients()[client]
    args = ["mcp", *(["--profile", profile] if profile else [])]
    try:
        before, after = target.text(), target.with_server(shutil.which("onetool") or "onetool", args)
    except UnreadableClientConfig as error:
        click.echo(f"Error: {error}. The file is unchanged.", err=True)
        raise SystemExit(1) from None
    if before == after:
        click.echo(f"{target.file} already contains OneTool.")
        return
    secrets = _possible_secrets(target.servers())
    old, new = (_mask_values(secrets, text) for text in (before, after))
    click.echo("".join(_diff(old, new, str(target.file))), nl=False)
    if not yes:
        confirm("Write this change?")
    backup = target.write(after)
    click.echo(f"Wrote {target.file}." + (f" Backup: {backup}" if backup else ""))
    choose_mcp_policy(load_current_configuration().settings, is_interactive=not yes and has_terminal())
    if not yes and has_terminal():
        from .background import offer_background

        offer_background()
    click.echo(f"Restart {target.title} to apply the change.")


def _possible_secrets(servers: Mapping[str, Any]) -> set[str]:
    """Return the values in a client's file that may be secrets: env, headers, URLs, arguments."""
    entries = [entry for entry in servers.values() if isinstance(entry, dict)]
    maps = [entry.get(key) or {} for entry in entries for key in ("env", *HEADER_KEYS)]
    values = {str(value) for map_ in maps if isinstance(map_, dict) for value in map_.values()}
    arguments = [list(map(str, entry["args"])) for entry in entries if isinstance(entry.get("args"), list)]
    urls = {str(entry[key]) for entry in entries for key in URL_KEYS if key in entry}
    secret_urls = {url for url in urls if is_probably_secret("", url)}
    return values.union(secret_urls, *(args for args in arguments if any(secret_arguments(args)))) - {""}


def _mask_values(values: Collection[str], text: str) -> str:
    for value in values:
        for literal in (json.dumps(value), json.dumps(value, ensure_ascii=False)):
            text = text.replace(literal, '"***"')
    return text


def _diff(before: str, after: str, name: str) -> list[str]:
    return list(
        difflib.unified_diff(before.splitlines(True), after.splitlines(True), name, f"{name} (new)", n=0)
    )
