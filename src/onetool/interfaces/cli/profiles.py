"""`onetool profiles`: the profiles in the settings, and the tokens of clients with a profile."""

import click

from onetool.settings.profile_schema import ProfileSettings

from .access import check_profile
from .command import current_paths, json_option, load_current_configuration, print_json, stdout, use_json


@click.group()
def profiles() -> None:
    """List profiles, and show their tokens.

    A profile is a named part of the tools, for clients that need no more. Profiles are in `profiles:` of
    the settings.
    """


@profiles.command("list")
@json_option
def list_profiles(as_json: bool) -> None:
    """List the profiles."""
    found = load_current_configuration().settings.profiles
    if use_json(as_json):
        print_json(found)
        return
    from .tables import table

    if not found:
        click.echo("No profiles. Add some to `profiles:` in onetool.yaml.", file=stdout())
        return
    table(
        ("PROFILE", "TOOLS", "NOT", "APPROVAL"), [(name, *_row(profile)) for name, profile in found.items()]
    )


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


def _row(profile: ProfileSettings) -> tuple[str, str, str]:
    included = (*(profile.packs or ()), *(profile.servers or ()))
    is_all = profile.packs is None and profile.servers is None
    return "all" if is_all else ", ".join(included), ", ".join(profile.exclude), profile.approval.mode
