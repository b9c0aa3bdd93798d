"""`onetool upgrade`: the command that upgrades OneTool, for the way in which it was installed."""

import sys

import click

from onetool.files.installation import find_installation, is_editable
from onetool.version import __version__


@click.command()
def upgrade() -> None:
    """Show how to upgrade OneTool, and how to remove it. Changes nothing.

    \b
    Example:
      onetool upgrade
    """
    if is_editable():
        click.echo(f"OneTool {__version__} runs from its source code, in {sys.prefix}.")
        click.echo("To upgrade it:  git pull && uv sync")
        return
    installation = find_installation()
    click.echo(f"OneTool {__version__}, installed with {installation.title} in {sys.prefix}.")
    click.echo(f"To upgrade it:  {installation.upgrade}")
    click.echo(f"To remove it:   {installation.remove}")
