"""`onetool scaffold`: the beginning of a pack, with its test."""

import click

from onetool.files.atomic import write_new
from onetool.settings.configuration import PACKS_DIR

from .init import PACK
from .session import find

TEST = '''\
"""Tests of the {name} pack: run them with pytest."""

import asyncio
from pathlib import Path

from onetool.testing import memory_runtime

FILE = Path(__file__).parent.parent / "{folder}" / "{name}.py"


def test_greet():
    """The greeting names who is greeted."""

    async def call():
        async with memory_runtime(files=[FILE]) as ot:
            return await ot.call("{name}.greet", name="Ada")

    assert asyncio.run(call()).data == "Hello, Ada."
'''


@click.group()
def scaffold() -> None:
    """Write the beginning of something."""


@scaffold.command()
@click.argument("name")
def pack(name: str) -> None:
    """Write a pack NAME with one tool, and its test; files that exist are left as they are.

    \b
    Example:
      onetool scaffold pack weather
    """
    if not name.isidentifier():
        raise click.BadParameter(
            f"{name!r} is not a name; a pack is called like a Python variable, such as my_pack"
        )
    places = find()
    wanted = {
        places.config / PACKS_DIR / f"{name}.py": PACK.format(name=name),
        places.config / "tests" / f"test_{name}.py": TEST.format(name=name, folder=PACKS_DIR),
    }
    for file, text in wanted.items():
        click.echo(f"{'wrote' if write_new(file, text.encode()) else 'kept ':<5}  {file}")
    click.echo(f"\nTry it:  onetool run '{name}.greet(name=\"Ada\")'")
