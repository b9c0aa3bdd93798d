"""`onetool tools enable` and `disable`: single tools of packs, servers and bundles."""

from collections.abc import Sequence

import click

from onetool.domain.bundles.bundle import BundleError, BundleFilter, BundleNotFound, StoredTool
from onetool.domain.bundles.pack_views import BUNDLE_DISABLED, DISABLED
from onetool.domain.page import all_items
from onetool.domain.text.suggestions import did_you_mean
from onetool.domain.tools.tool import CURRENT, ToolSpec, any_matches
from onetool.runtime.runtime import Runtime

from .command import stdout, with_runtime
from .completion import disabled_tool_names, tool_names

PAGE_SIZE = 256
ALL = BundleFilter(include_disabled=True)


@click.command()
@click.argument(
    "names", nargs=-1, required=True, metavar="NAME|PATTERN...", shell_complete=disabled_tool_names
)
def enable(names: tuple[str, ...]) -> None:
    """Enable tools. Of a stored tool, this enables its newest version, unless NAME has another one.

    `onetool tools list --disabled` lists the tools that are disabled.

    \b
    Examples:
      onetool tools enable shell.run
      onetool tools enable 'github.*' weather.today@v1
    """
    _set_enabled(names, True)


@click.command()
@click.argument("names", nargs=-1, required=True, metavar="NAME|PATTERN...", shell_complete=tool_names)
def disable(names: tuple[str, ...]) -> None:
    """Disable tools. Of a stored tool, this disables all versions, unless NAME has one.

    \b
    Examples:
      onetool tools disable shell.run
      onetool tools disable 'github.delete_*'
    """
    _set_enabled(names, False)


def _set_enabled(patterns: Sequence[str], is_enabled: bool) -> None:
    state = "enabled" if is_enabled else "disabled"
    try:
        changed, problems = with_runtime(lambda runtime: _update(runtime, patterns, is_enabled))
    except BundleError as error:
        raise click.ClickException(str(error)) from None
    for tool in changed:
        click.echo(f"{_label(tool)} is {state}.", file=stdout())
    for problem in problems:
        click.echo(f"Error: {problem}", err=True)
    if problems:
        raise SystemExit(1)
    if not changed:
        click.echo(f"Nothing to change: already {state}.", file=stdout())


def enable_command(spec: ToolSpec) -> str:
    """Return the command that enables a disabled tool; empty if another rule than a toggle disables it."""
    if spec.disabled_reason == BUNDLE_DISABLED:
        return f"onetool bundles enable {spec.pack}"
    return f"onetool tools enable {spec.name}" if spec.disabled_reason == DISABLED else ""


async def _update(
    runtime: Runtime, patterns: Sequence[str], is_enabled: bool
) -> tuple[list[StoredTool], list[str]]:
    """Enable or disable tools. Return those that were changed, and why others could not be."""
    tools = await _list_all(runtime)
    found = [tool for pattern in patterns for tool in _select(runtime, tools, pattern, is_enabled)]
    changed, problems = list[StoredTool](), list[str]()
    if is_enabled:
        disabled = {tool.bundle.slug: None for tool in found if not tool.bundle.is_enabled}
        problems += [
            f"Bundle {slug!r} is disabled, with all its tools. Enable it: onetool bundles enable {slug}"
            for slug in disabled
        ]
        found = [tool for tool in found if tool.bundle.is_enabled]
    todo = {tool.tool.key: tool for tool in found if tool.tool.is_enabled != is_enabled}
    for key, tool in todo.items():
        try:
            await runtime.state.bundles.set_tool_enabled(key, is_enabled)
            changed.append(tool)
        except BundleError as error:
            state = "enabled" if is_enabled else "disabled"
            problems.append(f"{_label(tool)} cannot be {state}: {error}")
    return changed, problems


def _select(
    runtime: Runtime, tools: Sequence[StoredTool], pattern: str, is_enabled: bool
) -> Sequence[StoredTool]:
    """Return the tools that match a name, an alias or a pattern.

    Raises:
        BundleNotFound: None does.
    """
    name = runtime.state.catalog.aliases.get(pattern, pattern)
    if matches := [tool for tool in tools if any_matches([name], [_label(tool)]) and "@" in name]:
        return matches
    matches = [tool for tool in tools if any_matches([name], _names(tool))]
    if not matches:
        names = {tool.name for tool in tools}
        raise BundleNotFound(f"No tool matches {pattern!r}.{did_you_mean(pattern, names)}")
    return _newest(matches) if is_enabled else matches


def _newest(tools: Sequence[StoredTool]) -> Sequence[StoredTool]:
    """Return the newest version of each tool."""
    by_age = sorted(tools, key=lambda tool: (tool.tool.created_at, tool.tool.id))
    return list({(tool.bundle.id, tool.tool.slug): tool for tool in by_age}.values())


def _names(tool: StoredTool) -> tuple[str, ...]:
    """Return the names of a tool; one from the settings also has its name without the pack."""
    return tool.name, tool.name.removeprefix("config.")


def _label(tool: StoredTool) -> str:
    return tool.name if tool.tool.version == CURRENT else f"{tool.name}@{tool.tool.version}"


async def _list_all(runtime: Runtime) -> list[StoredTool]:
    bundles = runtime.state.bundles
    return [tool async for tool in all_items(lambda after: bundles.list_tools(ALL, after, PAGE_SIZE))]
