"""The least that a click program is: start-up without anything of ours."""

import click


@click.group()
@click.version_option("1.0", message="bare %(version)s")
def cli() -> None:
    """Do nothing."""


cli(prog_name="bare")
