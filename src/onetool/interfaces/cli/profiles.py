"""`onetool profiles`: the profiles in the settings, and the tokens of clients with a profile."""

from typing import Any

import click

from onetool.domain.calls.effect import Effect
from onetool.interfaces.server_settings.setting_editor import set_setting, unset_setting
from onetool.settings.profile_schema import ProfileSettings
from onetool.settings.schema import ApprovalSettings

from .access import check_profile
from .command import current_paths, json_option, load_current_configuration, print_json, stdout, use_json
from .config_files import exit_on_edit_error
from .groups import CommandGroup


@click.group(cls=CommandGroup)
def profiles() -> None:
    """List, add and remove profiles, and show their tokens.

    A profile is a named part of the tools, for clients that need no more. Profiles are in `profiles:` of
    the settings.
    """


@profiles.command()
@click.argument("name")
@click.option("--pack", "packs", multiple=True, metavar="PATTERN", help="Include these packs and servers.")
@click.option("--exclude", multiple=True, metavar="PATTERN", help="Hide these tools.")
@click.option("--read-only", is_flag=True, help="Deny tools that are not read-only.")
def add(name: str, packs: tuple[str, ...], exclude: tuple[str, ...], read_only: bool) -> None:
    """Add a profile to your settings. Without --pack, it includes all packs and servers.

    --read-only sets `approval.mode: deny`: tools that are not read-only stay listed, and are never run.

    \b
    Examples:
      onetool profiles add reader --pack file --pack notes --read-only
      onetool profiles add research --pack web --exclude 'web.fetch_*'
    """
    if not (packs or exclude or read_only):
        raise click.UsageError("Pass at least one of --pack, --exclude and --read-only.")
    if name in load_current_configuration().settings.profiles:
        raise click.ClickException(
            f"Profile {name!r} exists. Change it with: onetool config set profiles.{name}.KEY VALUE"
        )
    value: dict[str, Any] = {"packs": [*packs]} if packs else {}
    value |= {"exclude": [*exclude]} if exclude else {}
    value |= {"approval": {"mode": "deny"}} if read_only else {}
    with exit_on_edit_error():
        set_setting(current_paths(), ("profiles", name), value)
    click.echo(f"Added profile {name}.", file=stdout())
    if read_only:
        click.echo(
            f"It denies tools that are not read-only (profiles.{name}.approval.mode: deny). A tool of an MCP"
            "\nserver counts as read-only after you approved it: onetool servers approve SERVER TOOL",
            file=stdout(),
        )
    click.echo(f"Connect a client:  onetool mcp install CLIENT --profile {name}", file=stdout())


@profiles.command()
@click.argument("name")
def remove(name: str) -> None:
    """Remove a profile from your settings. Clients with this profile no longer start.

    \b
    Example:
      onetool profiles remove reader
    """
    check_profile(name)
    with exit_on_edit_error():
        unset_setting(current_paths(), ("profiles", name))
    click.echo(f"Removed profile {name}.", file=stdout())


@profiles.command("list")
@json_option
def list_profiles(as_json: bool) -> None:
    """List the profiles."""
    settings = load_current_configuration().settings
    found = settings.profiles
    if use_json(as_json):
        print_json(found)
        return
    from .tables import table

    if not found:
        click.echo("No profiles. Add one with: onetool profiles add NAME --pack PACK", file=stdout())
        return
    rows = [(name, *_row(profile, settings.approval)) for name, profile in found.items()]
    table(("PROFILE", "TOOLS", "NOT", "APPROVAL"), rows)


@profiles.command()
@click.argument("name")
def token(name: str) -> None:
    """Print the token for REST and HTTP clients with a profile: /mcp/p/NAME, /tools/call and /run.

    It is derived from the token of `onetool serve`, and is valid as long as that one is.
    """
    from onetool.interfaces.rest.auth.credentials import profile_token

    from .serve import load_token

    check_profile(name)
    click.echo(profile_token(load_token(current_paths())[0], name), file=stdout())


def _row(profile: ProfileSettings, approval: ApprovalSettings) -> tuple[str, str, str]:
    included = (*(profile.packs or ()), *(profile.servers or ()))
    is_all = profile.packs is None and profile.servers is None
    tools = "all" if is_all else ", ".join(included)
    return tools, ", ".join(profile.exclude), _mode(profile, approval)


def _mode(profile: ProfileSettings, approval: ApprovalSettings) -> str:
    """Return what happens to tools of MCP clients that are not read-only: the more restrictive setting."""
    own = Effect[profile.approval.mode.upper()]
    common = Effect.ALLOW if "*" in approval.allow else Effect[approval.mcp.upper()]
    return f"{common} (approval.mcp)" if common > own else str(own)
