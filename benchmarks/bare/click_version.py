"""A minimal click program."""

import click


@click.group()
@click.version_option("1.0", message="bare %(version)s")
def cli() -> None:
    """Do nothing."""


cli(prog_name="bare")
