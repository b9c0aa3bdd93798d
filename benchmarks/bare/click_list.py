"""A minimal click program that validates values and runs an event loop."""

import asyncio

import click
import pydantic


class Listing(pydantic.BaseModel):
    """The listed tools."""

    tools: list[str]


@click.group()
def cli() -> None:
    """Do nothing."""


@cli.command("list")
def list_all() -> None:
    """Print an empty list."""

    async def work() -> Listing:
        return Listing(tools=[])

    click.echo(asyncio.run(work()).model_dump_json())


cli(prog_name="bare")
