"""`onetool bundles`: stored tools on the command line."""

from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any, TypeVar

import click

from onetool.domain.bundle import Bundle, BundleError, Filter, Listed, NoSuchBundle
from onetool.domain.nearest import did_you_mean
from onetool.domain.texts import counted, first_line
from onetool.runtime import Runtime

from .completion import bundle_names
from .session import answers, confirm, json_option, masked, wants_json, with_runtime, write_json

T = TypeVar("T")
PAGE = 256
EVERYTHING = Filter(include_disabled=True)


@click.group()
def bundles() -> None:
    """Keep tools in bundles: list, show, switch, export, import, delete. BUNDLE is an id or a slug."""


@bundles.command("list")
@json_option
def list_bundles(as_json: bool) -> None:
    """List all bundles; packs that are not stored are bundles too.

    \b
    Example:
      onetool bundles list
    """
    found = _with(_all_bundles)
    if wants_json(as_json):
        write_json([bundle.to_json() for bundle in found])
        return
    from .screen import table

    rows = [
        (bundle.slug, _on(bundle.is_enabled), bundle.origin, bundle.display_name, bundle.id)
        for bundle in found
    ]
    table(("BUNDLE", "STATE", "ORIGIN", "NAME", "ID"), rows)


@bundles.command()
@click.argument("bundle", shell_complete=bundle_names)
@json_option
def show(bundle: str, as_json: bool) -> None:
    """Show a bundle and its tools.

    \b
    Example:
      onetool bundles show time
    """
    found, tools = _with(lambda runtime: _show(runtime, bundle))
    if wants_json(as_json):
        write_json(found.to_json() | {"tools": [one.tool.to_json() | {"name": one.name} for one in tools]})
        return
    from .screen import table

    about = masked(found.description or found.display_name)
    click.echo(f"{found.slug}: {about} ({_on(found.is_enabled)})\n", file=answers())
    table(
        ("TOOL", "VERSION", "STATE", "TYPE", "DESCRIPTION"),
        [
            (
                one.name,
                one.tool.version,
                _on(one.tool.is_enabled),
                one.tool.type,
                first_line(one.tool.description),
            )
            for one in tools
        ],
    )


@bundles.command()
@click.argument("bundle", shell_complete=bundle_names)
def enable(bundle: str) -> None:
    """Switch a bundle on.

    \b
    Example:
      onetool bundles enable weather
    """
    _switch(bundle, True)


@bundles.command()
@click.argument("bundle", shell_complete=bundle_names)
def disable(bundle: str) -> None:
    """Switch a bundle off, with all its tools.

    \b
    Example:
      onetool bundles disable shell
    """
    _switch(bundle, False)


@bundles.command()
@click.argument("bundle", shell_complete=bundle_names)
@click.option("--yes", is_flag=True, help="Do not ask.")
def delete(bundle: str, yes: bool) -> None:
    """Delete a stored bundle; it is removed for good after two days if it is empty.

    \b
    Example:
      onetool bundles delete weather
    """
    if not yes:
        confirm(f"Delete the bundle {bundle!r}? Its tools can no longer be called")

    async def remove(runtime: Runtime) -> None:
        await runtime.bundles.delete_bundle((await _find(runtime, bundle)).id)

    _with(remove)
    click.echo(f"Deleted {bundle}.", file=answers())


@bundles.command()
@click.argument("bundle", shell_complete=bundle_names)
@click.argument("file", type=click.Path(dir_okay=False))
def export(bundle: str, file: str) -> None:
    """Write a bundle with all its tools to a ZIP FILE.

    \b
    Example:
      onetool bundles export weather weather.zip
    """

    async def write(runtime: Runtime) -> bytes:
        return await runtime.exchange.export((await _find(runtime, bundle)).id)

    content = _with(write)
    Path(file).write_bytes(content)
    click.echo(f"Wrote {file} ({len(content)} bytes).", file=answers())


@bundles.group("import")
def import_() -> None:
    """Take tools in. They stay switched off until you enable their bundle."""


@import_.command("zip")
@click.argument("file", type=click.Path(exists=True, dir_okay=False))
def import_zip(file: str) -> None:
    """Import a bundle that was exported.

    \b
    Example:
      onetool bundles import zip weather.zip
    """
    content = Path(file).read_bytes()
    bundle, number = _with(lambda runtime: runtime.exchange.import_archive(content))
    click.echo(
        f"Imported {counted(number, 'tool')}. Look at them, then: onetool bundles enable {bundle.slug}",
        file=answers(),
    )


@import_.command("openapi")
@click.argument("file", type=click.Path(exists=True, dir_okay=False))
@click.option("--base-url", metavar="URL", help="Where the API lies, if the description does not say.")
@json_option
def import_openapi(file: str, base_url: str | None, as_json: bool) -> None:
    """Turn a description of an API (OpenAPI 3.0 or 3.1, JSON or YAML) into a bundle.

    \b
    Example:
      onetool bundles import openapi petstore.yaml
    """
    content = Path(file).read_bytes()
    imported = _with(lambda runtime: runtime.exchange.import_openapi(content, base_url))
    bundle: Bundle = imported["bundle"]
    if wants_json(as_json):
        write_json(imported | {"bundle": bundle.to_json()})
        return
    click.echo(
        f"Imported {counted(imported['tools'], 'tool')} into the bundle {bundle.slug!r}, switched off.",
        file=answers(),
    )
    for text in imported["skipped"]:
        click.echo(f"  left out: {text}", file=answers())
    for text in imported["warnings"]:
        click.echo(f"  careful: {text}", file=answers())
    for step in _next_steps(imported, bundle):
        click.echo(step, file=answers())


def _with(use: Callable[[Runtime], Coroutine[Any, Any, T]]) -> T:
    """Use a OneTool; what cannot be done ends the command with 1."""
    try:
        return with_runtime(use)
    except BundleError as error:
        click.echo(f"Error: {error}", err=True)
        raise SystemExit(1) from None


def _switch(name: str, is_enabled: bool) -> None:
    async def switch(runtime: Runtime) -> Bundle:
        return await runtime.bundles.switch_bundle((await _find(runtime, name)).id, is_enabled)

    bundle = _with(switch)
    click.echo(f"{bundle.slug} is {_on(bundle.is_enabled)}.", file=answers())


async def _find(runtime: Runtime, name: str) -> Bundle:
    """The bundle of an id, or of a slug."""
    everything = await _all_bundles(runtime)
    found = [bundle for bundle in everything if name in (bundle.id, bundle.slug)]
    if len(found) == 1:
        return found[0]
    if found:
        ids = ", ".join(bundle.id for bundle in found)
        raise NoSuchBundle(f"Several bundles are called {name!r}. Give the id of one: {ids}")
    raise NoSuchBundle(f"There is no bundle {name!r}.{did_you_mean(name, [one.slug for one in everything])}")


async def _all_bundles(runtime: Runtime) -> list[Bundle]:
    found, after = list[Bundle](), None
    while True:
        page = await runtime.bundles.list_bundles(EVERYTHING, after, PAGE)
        found += page.items
        after = page.next
        if after is None:
            return found


async def _show(runtime: Runtime, name: str) -> tuple[Bundle, list[Listed]]:
    bundle = await _find(runtime, name)
    wanted = Filter(bundle_ids=frozenset({bundle.id}), include_disabled=True)
    tools, after = list[Listed](), None
    while True:
        page = await runtime.bundles.list_tools(wanted, after, PAGE)
        tools += page.items
        after = page.next
        if after is None:
            return bundle, tools


def _next_steps(imported: dict[str, Any], bundle: Bundle) -> list[str]:
    steps = []
    if imported["hosts"]:
        steps.append(f"Allow its host in onetool.yaml:  allowedHosts: [{', '.join(imported['hosts'])}]")
    if imported["secrets"]:
        steps.append(f"Add to secrets.yaml:             {', '.join(imported['secrets'])}")
    return [*steps, f"Then switch it on:               onetool bundles enable {bundle.slug}"]


def _on(is_enabled: bool) -> str:
    return "on" if is_enabled else "off"
