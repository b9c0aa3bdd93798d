"""The choice of `approval.mcp`: how calls from MCP clients are approved."""

from typing import Any

import click

from onetool.files.safe_yaml import parse_yaml
from onetool.settings.documents import SETTINGS_FILE
from onetool.settings.schema import ApprovalSettings, Settings
from onetool.settings.yaml_editor import add_entries

from .command import current_paths, stdout
from .config_files import edit_settings

POLICIES = {
    "allow": "Run it. Only the client asks, in its own way.",
    "ask": "Ask you before each call, through the client. A client that cannot ask gets an error.",
    "deny": "Never run it. Read-only tools still work.",
}
"""The values of `approval.mcp` and their consequences."""
SUGGESTED = "ask"
DEFAULT = f"""
{{who}} can call every tool{{part}}: approval.mcp is {ApprovalSettings().mcp}, the default, and only the
client asks you. To change that: onetool config set approval.mcp ask"""
ONE_TOOL = """
An MCP client sees one tool that reaches all others. If you once tell the client to always allow it, the
client asks no more."""
QUESTION = """
What should OneTool do if an MCP client calls a tool that is not read-only, because it writes files or sends
messages, for example?
"""


def ask_for_mcp_policy(settings: Settings, *, is_interactive: bool, profile: str | None = None) -> str | None:
    """Ask which policy applies to MCP clients, unless the user chose one before. Writes nothing.

    If the user cannot be asked, only say that the default is active.

    profile: the one of the client. If it asks or denies, nothing is left to choose for the client.
    """
    if "*" in settings.approval.allow or _is_chosen(settings):
        return None
    if profile is not None and settings.profiles[profile].approval.mode != "allow":
        return None
    if not is_interactive:
        who, part = ("This client", f" of profile {profile}") if profile else ("MCP clients", "")
        click.echo(DEFAULT.format(who=who, part=part), file=stdout())
        return None
    if settings.expose != "all":
        click.echo(ONE_TOOL, file=stdout())
    click.echo(QUESTION, file=stdout())
    for policy, consequence in POLICIES.items():
        click.echo(f"  {policy:<6} {consequence}", file=stdout())
    click.echo(file=stdout())
    chosen: str = click.prompt("Policy for MCP clients", type=click.Choice(list(POLICIES)), default=SUGGESTED)
    return chosen


def set_mcp_policy(chosen: str) -> None:
    """Write the policy for MCP clients to the user's settings."""
    edit_settings(lambda file, text: add_entries(file, text, "approval", {"mcp": chosen}))
    click.echo(f"Set approval.mcp to {chosen} in {current_paths().config / SETTINGS_FILE}.", file=stdout())


def _is_chosen(settings: Settings) -> bool:
    """Whether a settings file sets the policy. The default counts only if the user's file contains it."""
    if settings.approval.mcp != ApprovalSettings().mcp:
        return True
    file = current_paths().config / SETTINGS_FILE
    if not file.exists():
        return False
    value: Any = parse_yaml(file, file.read_bytes()).value
    return "mcp" in ((value or {}).get("approval") or {})
