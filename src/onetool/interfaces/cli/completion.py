"""`onetool completion`: the completion script for a shell, and completion of names."""

import asyncio
import os
import re
import threading
from collections.abc import Callable, Coroutine, Sequence
from functools import partial
from itertools import islice
from typing import Any

import click
from click.shell_completion import CompletionItem, get_completion_class

from onetool.bootstrap import open_runtime
from onetool.domain.bundles.page_tokens import MAX_PAGE_SIZE
from onetool.runtime.runtime import Runtime
from onetool.settings.configuration import load_configuration

from .command import current_paths

TIMEOUT_S = 3.0
"""Seconds until completion returns nothing."""
MAX_ITEMS = 1_000
SAFE_WORD = re.compile(r"[\w.@-]+")
"""Words that no shell splits or expands."""
INSTALL = {
    "bash": 'Add this line to ~/.bashrc:  eval "$(onetool completion bash)"',
    "zsh": 'Add this line to ~/.zshrc, after compinit:  eval "$(onetool completion zsh)"',
    "fish": "Run this once:  onetool completion fish > ~/.config/fish/completions/onetool.fish",
    "powershell": "Add this to $PROFILE:  onetool completion powershell | Out-String | Invoke-Expression",
}
SHELLS = [shell for shell in INSTALL if get_completion_class(shell)]
NameLister = Callable[[Runtime], Coroutine[Any, Any, Sequence[str]]]
Completer = Callable[[click.Context, click.Parameter, str], list[CompletionItem]]


@click.command()
@click.argument("shell", type=click.Choice(SHELLS))
def completion(shell: str) -> None:
    """Print a shell completion script.

    \b
    Examples:
      eval "$(onetool completion bash)"
      onetool completion fish > ~/.config/fish/completions/onetool.fish
    """
    completion_class = get_completion_class(shell)
    root = click.get_current_context().find_root()
    name = root.info_name or "onetool"
    variable = f"_{name.upper()}_COMPLETE"
    script = completion_class(root.command, {}, name, variable).source() if completion_class else ""
    click.echo(f"# {INSTALL[shell]}\n{script}", nl=False)


def _completer(list_names: NameLister) -> Completer:
    def complete(_context: click.Context, _parameter: click.Parameter, prefix: str) -> list[CompletionItem]:
        names = (name for name in _run(list_names) if name.startswith(prefix) and SAFE_WORD.fullmatch(name))
        return [CompletionItem(name) for name in islice(names, MAX_ITEMS)]

    return complete


def _run(list_names: NameLister) -> Sequence[str]:
    """List names with stderr silenced. A timeout exits the process, so that the shell completes nothing."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
    timer = threading.Timer(TIMEOUT_S, os._exit, (1,))
    timer.daemon = True
    timer.start()

    async def run() -> Sequence[str]:
        read = partial(load_configuration, current_paths(), os.environ)
        async with open_runtime(read, owns_process=True, waits_for_libraries=False) as runtime:
            return await list_names(runtime)

    return asyncio.run(run())


async def _tools(runtime: Runtime) -> Sequence[str]:
    tools = runtime.state.catalog.tools(start_servers=False)
    return [*runtime.state.catalog.aliases, *[tool.spec.name async for tool in tools if tool.spec.enabled]]


async def _disabled_tools(runtime: Runtime) -> Sequence[str]:
    tools = runtime.state.catalog.tools(start_servers=False)
    return [tool.spec.name async for tool in tools if not tool.spec.enabled]


async def _packs(runtime: Runtime) -> Sequence[str]:
    return sorted(await runtime.state.catalog.packs())


async def _bundles(runtime: Runtime) -> Sequence[str]:
    """Return the slugs of packs and servers. Listing the bundles themselves would start servers."""
    servers = set(await _servers(runtime))
    packs = [await runtime.state.catalog.pack(name) for name in set(await _packs(runtime)) - servers]
    slugs = {specs[0].qualified_name.partition(".")[0] for specs in packs if specs}
    return sorted(servers | slugs)


async def _servers(runtime: Runtime) -> Sequence[str]:
    return list(runtime.state.configuration.settings.servers)


async def _sessions(runtime: Runtime) -> Sequence[str]:
    page = await runtime.sessions.page(None, MAX_PAGE_SIZE)
    return [summary.id for summary in page.items]


tool_names = _completer(_tools)
disabled_tool_names = _completer(_disabled_tools)
pack_names = _completer(_packs)
bundle_names = _completer(_bundles)
server_names = _completer(_servers)
session_names = _completer(_sessions)
