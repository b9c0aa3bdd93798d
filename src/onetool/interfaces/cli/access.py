"""`onetool why`, `allow` and `deny`: who may call a tool, and the rules about that."""

from pathlib import Path
from typing import Any

import click

from onetool.domain.text.suggestions import did_you_mean
from onetool.files.safe_yaml import parse_yaml
from onetool.runtime.access import Access, access_json, explain
from onetool.runtime.runtime import Runtime
from onetool.settings.yaml_editor import set_value

from .command import json_option, load_current_configuration, print_json, stdout, use_json, with_runtime
from .config_files import edit_settings
from .tools_toggle import enable_command

profile_option = click.option("--profile", metavar="NAME", help="Only for clients with this profile.")


@click.command()
@click.argument("tool")
@profile_option
@json_option
def why(tool: str, profile: str | None, as_json: bool) -> None:
    """Explain who may call a tool: allow, ask, deny or hidden, and which rule decides.

    The most restrictive rule decides; the others that apply follow it.

    \b
    Examples:
      onetool why fs.read_file
      onetool why github.delete_repo --profile research
    """
    check_profile(profile)
    found, command = with_runtime(lambda runtime: _explain(runtime, tool))
    if profile is not None:
        found = [access for access in found if access.caller.profile == profile]
    if use_json(as_json):
        print_json([access_json(access) for access in found])
        return
    from .tables import table

    rows = [
        (str(decision.effect), words, "; ".join(map(str, decision.rules))) for words, _, decision in found
    ]
    table(("EFFECT", "CALLER", "RULES, THE DECIDING ONE FIRST"), rows)
    if command:
        click.echo(f"Enable it with: {command}", file=stdout())


@click.command()
@click.argument("pattern")
@profile_option
def allow(pattern: str, profile: str | None) -> None:
    """Let tools that match PATTERN run without approval, as far as no other rule forbids it.

    \b
    Examples:
      onetool allow 'notes.*'
      onetool allow github.create_issue --profile research
    """
    _add(pattern, "allow", "deny", profile)


@click.command()
@click.argument("pattern")
@profile_option
def deny(pattern: str, profile: str | None) -> None:
    """Let tools that match PATTERN never run. They stay listed.

    \b
    Examples:
      onetool deny 'shell.*'
      onetool deny 'github.delete_*' --profile research
    """
    _add(pattern, "deny", "allow", profile)


async def _explain(runtime: Runtime, tool: str) -> tuple[list[Access], str]:
    """Return what each kind of caller may do, and the command that enables the tool if it is disabled."""
    found = await explain(runtime.state, tool)
    if not found:
        names = [spec.name for spec in await runtime.state.catalog.specs()]
        raise click.ClickException(f"Tool not found: {tool!r}.{did_you_mean(tool, names)}")
    spec = await runtime.state.catalog.find(tool)
    return found, enable_command(spec.spec) if spec else ""


def _add(pattern: str, key: str, other: str, profile: str | None) -> None:
    """Add a pattern to one list of the user's settings, and remove it from the other."""
    check_profile(profile)
    path = ("approval",) if profile is None else ("profiles", profile, "approval")
    changed: dict[str, list[str]] = {}

    def change(file: Path, text: str) -> str:
        data: Any = parse_yaml(file, text.encode()).value or {}
        settings = data if profile is None else (data.get("profiles") or {}).get(profile)
        if settings is None:
            raise click.ClickException(f"Profile {profile!r} is not in {file}. Edit the file that has it.")
        changed.update(_changed(settings.get("approval") or {}, pattern, key, other))
        for name, values in changed.items():
            text = set_value(file, text, (*path, name), values)
        return text

    edit_settings(change)
    where = ".".join(path)
    removed = f" Removed it from {where}.{other}." if other in changed else ""
    applies = "It applies from the next call on, also for running clients."
    click.echo(f"Added {pattern!r} to {where}.{key}.{removed} {applies}", file=stdout())


def _changed(approval: dict[str, Any], pattern: str, key: str, other: str) -> dict[str, list[str]]:
    """Return the lists that change."""
    lists: dict[str, list[str]] = {
        name: [value for value in approval.get(name) or () if value != pattern] for name in (key, other)
    }
    lists[key].append(pattern)
    return {name: values for name, values in lists.items() if values != (approval.get(name) or [])}


def check_profile(profile: str | None) -> None:
    """Exit if there is no profile with this name."""
    profiles = load_current_configuration().settings.profiles
    if profile is not None and profile not in profiles:
        known = f" Profiles: {', '.join(profiles)}." if profiles else " There are none."
        raise click.ClickException(f"Profile {profile!r} not found.{did_you_mean(profile, profiles)}{known}")
