"""Generate the reference pages from the code: `just docs`."""

import asyncio
from pathlib import Path
from typing import Any

from generators import cli, decisions, errors, rest, sdk, security_tests, settings, tools
from onetool.domain.tools.tool import ToolSpec
from onetool.interfaces.rest.app import create_api
from onetool.testing import memory_runtime

DOCS = Path(__file__).parent
REFERENCE = DOCS / "reference"
"""All pages in this directory are generated."""


def pages() -> dict[str, str]:
    """Return the generated pages by their path under docs."""
    specs, document = asyncio.run(_read_runtime())
    static = settings.pages() | decisions.pages() | cli.pages() | errors.pages() | sdk.pages()
    static |= security_tests.pages()
    return static | tools.pages(specs) | rest.pages(document)


def existing_pages() -> dict[str, str]:
    """Return the generated pages that exist, by their path under docs."""
    files = [DOCS / "settings.md", DOCS / "decisions" / "index.md", *REFERENCE.rglob("*.md")]
    return {file.relative_to(DOCS).as_posix(): file.read_text(encoding="utf-8") for file in files}


def write(generated: dict[str, str]) -> None:
    """Write the pages and delete outdated ones."""
    for name, text in generated.items():
        file = DOCS / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")
    for name in existing_pages().keys() - generated.keys():
        (DOCS / name).unlink()


async def _read_runtime() -> tuple[list[ToolSpec], dict[str, Any]]:
    """Return the tools and the OpenAPI document of OneTool with default settings."""
    async with memory_runtime() as ot:
        return await ot.runtime.state.catalog.specs(), create_api(ot.runtime).openapi()


if __name__ == "__main__":
    write(pages())
