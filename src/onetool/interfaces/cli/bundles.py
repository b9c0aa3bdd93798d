"""`onetool bundles`: manage bundles of stored tools."""

import shlex
from collections.abc import Callable, Coroutine, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar

import click

from onetool.domain.bundles.bundle import Bundle, BundleError, BundleFilter, BundleNotFound, StoredTool
from onetool.domain.bundles.identifiers import python_name, to_slug
from onetool.domain.page import all_items
from onetool.domain.text.strings import first_line, pluralize
from onetool.domain.text.suggestions import did_you_mean
from onetool.runtime.runtime import Runtime

from .command import confirm, json_option, mask, print_json, stdout, use_json, with_runtime
from .completion import bundle_names
from .groups import CommandGroup, PathCommand

T = TypeVar("T")
PAGE_SIZE = 256
ALL = BundleFilter(include_disabled=True)
MAX_RENAMED = 20
"""Changed names that an import shows."""


@click.group(cls=CommandGroup)
def bundles() -> None:
    """Manage bundles of stored tools. BUNDLE is an id or a slug."""


@bundles.command("list")
@json_option
def list_bundles(as_json: bool) -> None:
    """List all bundles, including packs.

    \b
    Example:
      onetool bundles list
    """
    found = _run(_list_all)
    if use_json(as_json):
        print_json([bundle.to_json() for bundle in found])
        return
    from .tables import table

    rows = [
        (bundle.slug, _state(bundle.is_enabled), bundle.origin, bundle.display_name, bundle.id)
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
    found, tools = _run(lambda runtime: _load(runtime, bundle))
    if use_json(as_json):
        print_json(found.to_json() | {"tools": [tool.tool.to_json() | {"name": tool.name} for tool in tools]})
        return
    from .tables import table

    description = mask(found.description or found.display_name)
    click.echo(f"{found.slug}: {description} ({_state(found.is_enabled)})\n", file=stdout())
    table(
        ("TOOL", "VERSION", "STATE", "TYPE", "DESCRIPTION"),
        [
            (
                stored.name,
                stored.tool.version,
                _state(stored.tool.is_enabled),
                stored.tool.type,
                first_line(stored.tool.description),
            )
            for stored in tools
        ],
    )


@bundles.command()
@click.argument("bundle", shell_complete=bundle_names)
def enable(bundle: str) -> None:
    """Enable a bundle and its tools.

    \b
    Example:
      onetool bundles enable weather
    """
    _set_enabled(bundle, True)


@bundles.command()
@click.argument("bundle", shell_complete=bundle_names)
def disable(bundle: str) -> None:
    """Disable a bundle and its tools.

    \b
    Example:
      onetool bundles disable shell
    """
    _set_enabled(bundle, False)


@bundles.command()
@click.argument("bundle", shell_complete=bundle_names)
@click.option("--yes", is_flag=True, help="Skip confirmation.")
def delete(bundle: str, yes: bool) -> None:
    """Delete a stored bundle.

    Its tools stop working at once. The bundle is purged after two days, unless it still contains tools.

    \b
    Example:
      onetool bundles delete weather
    """
    if not yes:
        confirm(f"Delete bundle {bundle!r} and make its tools unavailable?")

    async def delete_bundle(runtime: Runtime) -> None:
        await runtime.state.bundles.delete_bundle((await _find(runtime, bundle)).id)

    _run(delete_bundle)
    click.echo(f"Deleted {bundle}.", file=stdout())


@bundles.command(cls=PathCommand)
@click.argument("bundle", shell_complete=bundle_names)
@click.argument("file", type=click.Path(dir_okay=False))
def export(bundle: str, file: str) -> None:
    """Export a bundle and all its tools to a ZIP FILE.

    \b
    Example:
      onetool bundles export weather weather.zip
    """

    async def export_bundle(runtime: Runtime) -> bytes:
        return await runtime.state.transfer.export((await _find(runtime, bundle)).id)

    content = _run(export_bundle)
    Path(file).write_bytes(content)
    click.echo(f"Wrote {file} ({len(content)} bytes).", file=stdout())


@bundles.group("import")
def import_() -> None:
    """Import a bundle. It is disabled until you enable it."""


@import_.command("zip", cls=PathCommand)
@click.argument("file", type=click.Path(exists=True, dir_okay=False))
def import_zip(file: str) -> None:
    """Import a bundle from a ZIP FILE created by `bundles export`.

    \b
    Example:
      onetool bundles import zip weather.zip
    """
    import_bundle_archive(Path(file).read_bytes())


@import_.command("openapi", cls=PathCommand)
@click.argument("file", type=click.Path(exists=True, dir_okay=False))
@click.option(
    "--base-url", metavar="URL", help="Base URL of the API. Overrides the servers listed in the document."
)
@json_option
def import_openapi(file: str, base_url: str | None, as_json: bool) -> None:
    """Create a bundle from an OpenAPI 3.0 or 3.1 FILE in JSON or YAML.

    \b
    Example:
      onetool bundles import openapi petstore.yaml
    """
    import_openapi_document(Path(file).read_bytes(), base_url, as_json=as_json)


def import_bundle_archive(content: bytes, *, enable: bool = False) -> None:
    """Import the bundle of a ZIP archive and print the next step."""

    async def store(runtime: Runtime) -> tuple[Bundle, int]:
        bundle, count = await runtime.state.transfer.import_archive(content)
        return await _enable_if(enable, runtime, bundle), count

    bundle, count = _run(store)
    step = "It is enabled." if enable else f"Review, then enable: onetool bundles enable {bundle.slug}"
    click.echo(f"Imported {pluralize(count, 'tool')}. {step}", file=stdout())


def import_openapi_document(
    content: bytes, base_url: str | None, *, as_json: bool = False, enable: bool = False
) -> None:
    """Create a bundle from an OpenAPI document and print what is left to do."""

    async def store(runtime: Runtime) -> tuple[dict[str, Any], Sequence[str]]:
        imported = await runtime.state.transfer.import_openapi(content, base_url)
        allowed = runtime.state.configuration.settings.allowedHosts
        bundle = await _enable_if(enable, runtime, imported["bundle"])
        others.extend(other.id for other in await runtime.state.bundles.named(bundle.slug) if other != bundle)
        return imported | {"bundle": bundle}, allowed

    others = list[str]()
    imported, allowed = _run(store)
    bundle: Bundle = imported["bundle"]
    if use_json(as_json):
        print_json(imported | {"bundle": bundle.to_json()})
        return
    click.echo(
        f"Imported {pluralize(imported['tools'], 'tool')} into bundle {bundle.slug!r}, "
        f"{_state(bundle.is_enabled)}.",
        file=stdout(),
    )
    for text in imported["skipped"]:
        click.echo(mask(f"  skipped: {text}"), file=stdout())
    for text in imported["warnings"]:
        click.echo(mask(f"  warning: {text}"), file=stdout())
    _print_renamed(imported["renamed"], bundle)
    if others:
        click.echo(f"Another bundle has the same slug: {', '.join(others)}", file=stdout())
    for step in _next_steps(imported, bundle, allowed, bundle.id if others else bundle.slug):
        click.echo(step, file=stdout())


async def _enable_if(enable: bool, runtime: Runtime, bundle: Bundle) -> Bundle:
    return await runtime.state.bundles.set_bundle_enabled(bundle.id, True) if enable else bundle


def _run(action: Callable[[Runtime], Coroutine[Any, Any, T]]) -> T:
    """Run an action with a runtime and exit with code 1 on bundle errors."""
    try:
        return with_runtime(action)
    except BundleError as error:
        click.echo(f"Error: {error}", err=True)
        raise SystemExit(1) from None


def _set_enabled(name: str, is_enabled: bool) -> None:
    async def update(runtime: Runtime) -> Bundle:
        return await runtime.state.bundles.set_bundle_enabled((await _find(runtime, name)).id, is_enabled)

    bundle = _run(update)
    click.echo(f"{bundle.slug} is {_state(bundle.is_enabled)}.", file=stdout())


async def _find(runtime: Runtime, name: str) -> Bundle:
    """Return the bundle with this id or slug, or whose tools are in the pack with this name.

    Raises:
        BundleNotFound: No bundle, or more than one, has this name.
    """
    bundles = runtime.state.bundles
    matches = await bundles.named(name) or await bundles.named(to_slug(name))
    if len(matches) == 1:
        return matches[0]
    if matches:
        ids = ", ".join(bundle.id for bundle in matches)
        raise BundleNotFound(f"Several bundles have the slug {name!r}. Use an id instead: {ids}")
    suggestion = did_you_mean(name, [bundle.slug for bundle in await _list_all(runtime)])
    raise BundleNotFound(f"Bundle {name!r} not found.{suggestion}")


async def _list_all(runtime: Runtime) -> list[Bundle]:
    bundles = runtime.state.bundles
    return [bundle async for bundle in all_items(lambda after: bundles.list_bundles(ALL, after, PAGE_SIZE))]


async def _load(runtime: Runtime, name: str) -> tuple[Bundle, list[StoredTool]]:
    bundle = await _find(runtime, name)
    criteria = BundleFilter(bundle_ids=frozenset({bundle.id}), include_disabled=True)
    bundles = runtime.state.bundles
    tools = all_items(lambda after: bundles.list_tools(criteria, after, PAGE_SIZE))
    return bundle, [tool async for tool in tools]


def _print_renamed(renamed: Mapping[str, str], bundle: Bundle) -> None:
    """Print the tools that have another name than their operation: call them by the new name."""
    if not renamed:
        return
    from .tables import table

    shown = list(renamed.items())[:MAX_RENAMED]
    table(("OPERATION", "TOOL"), [(old, f"{python_name(bundle.slug)}.{new}") for old, new in shown])
    if more := len(renamed) - len(shown):
        click.echo(f"... and {more} more: onetool bundles show {bundle.slug}", file=stdout())
    click.echo(file=stdout())


def _next_steps(imported: Mapping[str, Any], bundle: Bundle, allowed: Sequence[str], name: str) -> list[str]:
    """Return the commands after an import.

    name: the slug of the bundle, or its id if others have the same slug.

    allowed: the hosts in the setting, which the command replaces.
    """
    steps = []
    if missing := [host for host in imported["hosts"] if host not in allowed]:
        hosts = ",".join([*allowed, *missing])
        steps.append(f"Allow its host:          onetool config set allowedHosts {shlex.quote(hosts)}")
    steps += [f"Store its secret:        onetool secrets set {name}" for name in imported["secrets"]]
    enable = f"Then enable the bundle:  onetool bundles enable {name}"
    return steps if bundle.is_enabled else [*steps, enable]


def _state(is_enabled: bool) -> str:
    return "enabled" if is_enabled else "disabled"
