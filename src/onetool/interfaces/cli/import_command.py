"""`onetool import`: import what others share, recognized by its content."""

from typing import Any, NoReturn

import click

from onetool.domain.bundles.bundle import BundleError
from onetool.domain.servers.pasted import UnreadableText, entries_in
from onetool.domain.text.strings import escape_invisible
from onetool.interfaces.setup.given import GivenSource, UnreadableSource, read_given
from onetool.interfaces.setup.recognition import UnknownContent, recognize

from .command import confirm, stdout, with_runtime
from .groups import PathCommand

TITLES = {
    "openapi": "an OpenAPI document",
    "servers": "servers of an MCP client",
    "bundle": "a bundle",
    "pack": "a pack: Python code",
    "setup": "a setup",
}


@click.command("import", cls=PathCommand)
@click.argument("source", metavar="FILE|DIRECTORY|URL|-")
@click.option("--enable", is_flag=True, help="Enable imported bundles.")
@click.option("--replace", is_flag=True, help="Replace what exists and differs. Default: keep it.")
@click.option("--base-url", metavar="URL", help="Base URL of the API of an OpenAPI document.")
@click.option("--no-input", is_flag=True, help="Do not ask for missing secrets, but list them.")
@click.option("--full", is_flag=True, help="Show everything, without shortening.")
@click.option("--yes", is_flag=True, help="Skip confirmation.")
def import_command(source: str, **options: Any) -> None:
    """Import an OpenAPI document, servers of an MCP client, a bundle, a pack or a setup.

    Shows what would be written, and asks before code runs or a download is used. Imported bundles are
    disabled until you enable them.

    \b
    Examples:
      onetool import petstore.yaml
      onetool import ~/.cursor/mcp.json
      onetool import https://example.com/team-setup.zip
      pbpaste | onetool import - --yes
    """
    try:
        given = read_given(source)
        kind, value = recognize(given)
    except (UnreadableSource, UnknownContent) as error:
        _exit(str(error))
    if given.is_remote:
        size = f"{len(given.content):,} bytes"
        click.echo(escape_invisible(f"Downloaded {TITLES[kind]} from {given.origin} ({size})."), err=True)
    if kind == "servers":
        _import_servers(given, value, yes=options["yes"])
    elif kind == "pack":
        from .import_pack import import_pack

        import_pack(given, replace=options["replace"], full=options["full"], yes=options["yes"])
    elif kind == "setup":
        from .import_setup import import_setup

        del options["base_url"]
        import_setup(given, **options)
    else:
        _import_bundle(kind, given, options)


def _import_servers(given: GivenSource, value: Any, *, yes: bool) -> None:
    from .servers_config import import_entries

    try:
        entries = entries_in(value)
    except UnreadableText as error:
        _exit(str(error))
    if not import_entries(entries, given.origin, yes=yes):
        raise SystemExit(1)


def _import_bundle(kind: str, given: GivenSource, options: dict[str, Any]) -> None:
    from .bundles import import_bundle_archive, import_openapi_document

    if kind == "bundle" and options["enable"]:
        _review_bundle(given.content, full=options["full"])
        if not options["yes"]:
            confirm("Import this bundle and enable it?")
    elif given.is_remote and not options["yes"]:
        confirm("Create a bundle from it?")
    if kind == "openapi":
        import_openapi_document(given.content, options["base_url"], enable=options["enable"])
    else:
        import_bundle_archive(given.content, enable=options["enable"])


def _review_bundle(content: bytes, *, full: bool) -> None:
    """Print what the tools of a bundle would do."""
    from .bundle_effects import bundle_effects
    from .trust_view import TrustView

    try:
        bundle, tools = with_runtime(lambda runtime: runtime.state.transfer.read_archive(content))
    except BundleError as error:
        _exit(str(error))
    view = TrustView(stdout(), full=full)
    intro = f"If you enable the bundle {bundle.slug}"
    view.print_effects(list(bundle_effects(bundle, tools)), None, intro=intro, always=())
    if view.has_hidden:
        click.echo("Some of it is hidden. Show everything with --full.", file=stdout())


def _exit(message: str) -> NoReturn:
    click.echo(f"Error: {escape_invisible(message)}", err=True)
    raise SystemExit(1)
