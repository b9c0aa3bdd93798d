"""The import of one pack file: shown as code, then copied, then described as at every start."""

import re
from collections.abc import Sequence
from pathlib import Path

import click

from onetool.domain.text.strings import escape_invisible
from onetool.interfaces.setup.given import GivenSource
from onetool.interfaces.setup.plan import SetupChanged, write_pack
from onetool.runtime.runtime import Runtime
from onetool.settings.documents import PACKS_DIR
from onetool.settings.trust import MAX_BYTES
from onetool.settings.trust_effects import pack_effect
from onetool.settings.trust_review import ProjectReview, ReviewedFile, Status

from .command import confirm, current_paths, mask, stdout, with_runtime
from .trust_view import TrustView

FILE_NAME = re.compile(r"[^\W\d_]\w*\.py")


def import_pack(given: GivenSource, *, replace: bool, full: bool, yes: bool) -> None:
    """Show a pack file, copy it into the directory of packs and print its tools."""
    if not FILE_NAME.fullmatch(given.name):
        raise click.ClickException(
            f"{given.name!r} is not a name for a pack file. Rename it to a Python identifier: my_pack.py."
        )
    if len(given.content) > MAX_BYTES:
        raise click.ClickException(f"{given.name} is larger than {MAX_BYTES:,} bytes.")
    file = current_paths().config / PACKS_DIR / given.name
    before = file.read_bytes() if file.exists() else None
    if before == given.content:
        click.echo(f"{file} exists with the same content.", file=stdout())
        return
    if before is not None and not replace:
        raise click.ClickException(f"{file} exists with other content. Replace it with --replace.")
    status: Status = "new" if before is None else "changed"
    reviewed = ReviewedFile(
        name=given.name, path=file, content=given.content, status=status, trusted_content=before
    )
    view = TrustView(stdout(), full=full)
    view.print_files(file.parent, ProjectReview(files=(reviewed,)))
    view.print_effects(
        [pack_effect(given.name, given.content)], None, intro="If you import this file", always=()
    )
    if view.has_hidden:
        click.echo("\nSome of it is hidden. Show everything with --full.", file=stdout())
    if not yes:
        confirm("Import this code, and run it to list its tools?")
    known = with_runtime(_tool_names, waits_for_servers=False)[0]
    try:
        write_pack(file, given.content, before)
    except SetupChanged as error:
        raise click.ClickException(str(error)) from None
    names, skipped = with_runtime(_tool_names, waits_for_servers=False)
    _print_result(file, sorted(names - known), skipped)


async def _tool_names(runtime: Runtime) -> tuple[set[str], list[str]]:
    """Return the names of all tools, and messages about pack files and functions that were skipped."""
    catalog = runtime.state.catalog
    names = {spec.name for spec in await catalog.specs()}
    return names, [*catalog.skipped.values(), *catalog.skipped_tools]


def _print_result(file: Path, names: Sequence[str], skipped: Sequence[str]) -> None:
    click.echo(mask(f"Imported {file}. New tools: {', '.join(names) or 'none'}."), file=stdout())
    click.echo("This copy is what runs: edit it there.", file=stdout())
    for message in skipped:
        if file.name in message:
            lines = (escape_invisible(line) for line in message.splitlines())
            click.echo(mask("  skipped: " + "\n".join(lines)), err=True)
    if names:
        click.echo(f"Try it:  onetool help {names[0]}", file=stdout())
