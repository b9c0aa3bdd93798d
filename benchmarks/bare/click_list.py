"""The least that a click program is which checks values and runs an event loop."""

import asyncio

import click
import pydantic


class Answer(pydantic.BaseModel):
    """What is listed."""

    tools: list[str]


@click.group()
def cli() -> None:
    """Do nothing."""


@cli.command("list")
def list_all() -> None:
    """Print an empty list."""

    async def work() -> Answer:
        return Answer(tools=[])

    click.echo(asyncio.run(work()).model_dump_json())


cli(prog_name="bare")
