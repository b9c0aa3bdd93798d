"""`onetool completion`: names that a shell fills in at a Tab, and the script that lets it ask for them."""

import asyncio
import os
import re
import threading
from collections.abc import Callable, Coroutine, Sequence
from itertools import islice
from typing import Any

import click
from click.shell_completion import CompletionItem, get_completion_class

from onetool.bootstrap import open_runtime
from onetool.domain.page_tokens import LARGEST_PAGE
from onetool.runtime import Runtime
from onetool.settings.configuration import load_configuration

from .session import find

PATIENCE = 3.0
"""Seconds that a person may wait at a Tab."""
MOST = 1_000
WORD = re.compile(r"[\w.@-]+")
"""What a shell takes as one word, and nothing that it would expand."""
INSTALL = {
    "bash": 'Put this line into ~/.bashrc:  eval "$(onetool completion bash)"',
    "zsh": 'Put this line into ~/.zshrc, after compinit:  eval "$(onetool completion zsh)"',
    "fish": "Run this once:  onetool completion fish > ~/.config/fish/completions/onetool.fish",
    "powershell": "Put this into $PROFILE:  onetool completion powershell | Out-String | Invoke-Expression",
}
SHELLS = [shell for shell in INSTALL if get_completion_class(shell)]
Look = Callable[[Runtime], Coroutine[Any, Any, Sequence[str]]]
Complete = Callable[[click.Context, click.Parameter, str], list[CompletionItem]]


@click.command()
@click.argument("shell", type=click.Choice(SHELLS))
def completion(shell: str) -> None:
    """Print the script that lets a SHELL complete commands, options and names at a Tab.

    \b
    Examples:
      eval "$(onetool completion bash)"
      onetool completion fish > ~/.config/fish/completions/onetool.fish
    """
    made = get_completion_class(shell)
    root = click.get_current_context().find_root()
    name = root.info_name or "onetool"
    script = made(root.command, {}, name, f"_{name.upper()}_COMPLETE").source() if made else ""
    click.echo(f"# {INSTALL[shell]}\n{script}", nl=False)


def _names(look: Look) -> Complete:
    def complete(_context: click.Context, _parameter: click.Parameter, begun: str) -> list[CompletionItem]:
        found = (name for name in _ask(look) if name.startswith(begun) and WORD.fullmatch(name))
        return [CompletionItem(name) for name in islice(found, MOST)]

    return complete


def _ask(look: Look) -> Sequence[str]:
    """Ask a OneTool, silently: what fails or takes too long ends the process, and completes nothing."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
    giving_up = threading.Timer(PATIENCE, os._exit, (1,))
    giving_up.daemon = True
    giving_up.start()

    async def run() -> Sequence[str]:
        async with open_runtime(lambda: load_configuration(find(), os.environ)) as runtime:
            return await look(runtime)

    return asyncio.run(run())


async def _tools(runtime: Runtime) -> Sequence[str]:
    known = runtime.catalog.tools(wakes=False)
    return [*runtime.catalog.aliases, *[tool.spec.name async for tool in known if tool.spec.enabled]]


async def _packs(runtime: Runtime) -> Sequence[str]:
    return sorted(await runtime.catalog.packs())


async def _bundles(runtime: Runtime) -> Sequence[str]:
    """Packs by their slugs; to list the bundles themselves would start servers."""
    servers = set(await _servers(runtime))
    packs = [await runtime.catalog.pack(name) for name in set(await _packs(runtime)) - servers]
    slugs = {specs[0].qualified_name.partition(".")[0] for specs in packs if specs}
    return sorted(servers | slugs)


async def _servers(runtime: Runtime) -> Sequence[str]:
    return list(runtime.configuration.settings.servers)


async def _sessions(runtime: Runtime) -> Sequence[str]:
    page = await runtime.threads.run(runtime.sessions.page, None, LARGEST_PAGE)
    return [head.id for head in page.items]


tool_names, pack_names = _names(_tools), _names(_packs)
bundle_names, server_names, session_names = _names(_bundles), _names(_servers), _names(_sessions)
