"""`onetool scaffold`: create a pack and its test."""

import click

from onetool.files.atomic import write_new
from onetool.settings.configuration import PACKS_DIR

from .command import current_paths
from .init import PACK

TEST = '''\
"""Tests of the {name} pack. Run them with pytest."""

import asyncio
from pathlib import Path

from onetool.testing import memory_runtime

FILE = Path(__file__).parent.parent / "{folder}" / "{name}.py"


def test_greet():
    async def call():
        async with memory_runtime(files=[FILE]) as ot:
            return await ot.call("{name}.greet", name="Ada")

    assert asyncio.run(call()).data == "Hello, Ada."
'''


@click.group()
def scaffold() -> None:
    """Create a pack from a template."""


@scaffold.command()
@click.argument("name")
def pack(name: str) -> None:
    """Create a pack with one tool and its test. Existing files are not changed.

    \b
    Example:
      onetool scaffold pack weather
    """
    if not name.isidentifier():
        raise click.BadParameter(
            f"{name!r} is not a valid pack name. Use a Python identifier such as my_pack."
        )
    paths = current_paths()
    files = {
        paths.config / PACKS_DIR / f"{name}.py": PACK.format(name=name),
        paths.config / "tests" / f"test_{name}.py": TEST.format(name=name, folder=PACKS_DIR),
    }
    for file, text in files.items():
        click.echo(f"{'wrote' if write_new(file, text.encode()) else 'exists':<6} {file}")
    click.echo(f"\nTry it:  onetool run '{name}.greet(name=\"Ada\")'")
