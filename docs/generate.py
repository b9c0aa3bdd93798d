"""Write the pages of the reference that are made from the code: `just docs`."""

import asyncio
from pathlib import Path
from typing import Any

from generators import cli, decisions, errors, rest, sdk, settings, tools
from onetool.domain.tool import ToolSpec
from onetool.doors.rest.app import create_api
from onetool.testing import memory_runtime

DOCS = Path(__file__).parent
MADE = DOCS / "reference"
"""Nothing in here is written by hand."""


def pages() -> dict[str, str]:
    """Every made page, by its place under docs."""
    specs, document = asyncio.run(_asked())
    made = settings.pages() | decisions.pages() | cli.pages() | errors.pages() | sdk.pages()
    return made | tools.pages(specs) | rest.pages(document)


def written() -> dict[str, str]:
    """Every page that is there, of those that are made."""
    files = [DOCS / "settings.md", DOCS / "decisions" / "index.md", *MADE.rglob("*.md")]
    return {file.relative_to(DOCS).as_posix(): file.read_text(encoding="utf-8") for file in files}


def write(made: dict[str, str]) -> None:
    """Write the pages, and remove those that are made no more."""
    for name, text in made.items():
        file = DOCS / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")
    for name in written().keys() - made.keys():
        (DOCS / name).unlink()


async def _asked() -> tuple[list[ToolSpec], dict[str, Any]]:
    """What a OneTool without any settings offers: its tools, and the document of its routes."""
    async with memory_runtime() as ot:
        return await ot.runtime.catalog.specs(), create_api(ot.runtime).openapi()


if __name__ == "__main__":
    write(pages())
