"""`onetool scaffold`: create a pack and its test."""

import json

import click
from packaging.requirements import InvalidRequirement, Requirement

from onetool.files.atomic import write_new
from onetool.settings.documents import PACKS_DIR

from .command import current_paths
from .groups import CommandGroup
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


@click.group(cls=CommandGroup)
def scaffold() -> None:
    """Create a pack from a template."""


@scaffold.command()
@click.argument("name")
@click.option(
    "--library", "libraries", multiple=True, help="Library that the pack needs, such as humanize>=4."
)
def pack(name: str, libraries: tuple[str, ...]) -> None:
    """Create a pack with one tool and its test. Existing files are not changed.

    Libraries are installed for this pack only, when it is first used.

    \b
    Example:
      onetool scaffold pack weather
      onetool scaffold pack sizes --library humanize
    """
    if not name.isidentifier():
        raise click.BadParameter(
            f"{name!r} is not a valid pack name. Use a Python identifier such as my_pack."
        )
    paths = current_paths()
    files = {
        paths.config / PACKS_DIR / f"{name}.py": _metadata(libraries) + PACK.format(name=name),
        paths.config / "tests" / f"test_{name}.py": TEST.format(name=name, folder=PACKS_DIR),
    }
    for file, text in files.items():
        click.echo(f"{'wrote' if write_new(file, text.encode()) else 'exists':<6} {file}")
    click.echo(f"\nTry it:  onetool run '{name}.greet(name=\"Ada\")'")


def _metadata(libraries: tuple[str, ...]) -> str:
    """Return the inline metadata of a pack with these libraries; empty if there are none."""
    for library in libraries:
        try:
            Requirement(library)
        except InvalidRequirement:
            raise click.BadParameter(
                f"{library!r} is not a library. Use a name such as humanize, or humanize>=4."
            ) from None
    return f"# /// script\n# dependencies = {json.dumps(libraries)}\n# ///\n" if libraries else ""
