"""`onetool servers approve`: review and approve what a server changed."""

from collections.abc import Sequence

import click

from onetool.domain.servers.instructions import InstructionsReview
from onetool.domain.servers.manifest import QuarantinedTool, count_kinds
from onetool.domain.text.strings import join_words
from onetool.runtime.runtime import Runtime

from .command import confirm, mask, stdout, with_runtime
from .completion import server_names
from .server_selection import select_servers
from .start_progress import StartProgress


@click.command()
@click.argument("name", shell_complete=server_names)
@click.argument("tools", nargs=-1)
@click.option("--yes", is_flag=True, help="Skip confirmation.")
def approve(name: str, tools: tuple[str, ...], yes: bool) -> None:
    """Approve a server's quarantined tools. Without TOOLS, approve all of them, and its instructions.

    A tool is quarantined if its definition has changed since you approved it, if the server added it later,
    or if its description looks like prompt injection. The same holds for prompts, resources and texts of
    prompts; name them as the review does, for example "prompt greet". A tool that the server declares as
    read-only is treated as such after you approved it by name. The current definition is shown before you
    confirm.

    \b
    Examples:
      onetool servers approve github
      onetool servers approve github create_issue --yes
      onetool servers approve github "prompt review"
    """
    select_servers([name])
    progress = StartProgress()

    async def approve_tools(runtime: Runtime) -> list[str]:
        server = runtime.state.servers[name]
        await runtime.state.servers.probe(name)
        instructions = InstructionsReview() if tools else await server.instructions()
        selected = [
            tool for tool in await _tools_to_approve(runtime, name, tools) if not tools or tool.name in tools
        ]
        if unknown := set(tools) - {tool.name for tool in selected}:
            raise click.ClickException(f"Server {name!r} has no tool {min(unknown)!r} to approve.")
        subjects = [*count_kinds(selected), *(["the instructions"] if instructions.reason else [])]
        if not subjects:
            return []
        progress.pause()
        _show_quarantined(selected)
        _show_instructions(instructions)
        if not yes:
            confirm(f"Approve {join_words(subjects)}?")
        try:
            await server.approve({tool.name: tool.new.pin for tool in selected})
            if instructions.reason:
                await server.approve_instructions(instructions.pin)
        except ValueError as error:
            raise click.ClickException(mask(str(error))) from None
        return subjects

    approved = join_words(with_runtime(approve_tools, progress=progress))
    click.echo(
        f"Approved {approved} of {name}."
        if approved
        else f"{name} has no quarantined tools or other definitions.",
        file=stdout(),
    )


async def _tools_to_approve(runtime: Runtime, name: str, names: Sequence[str]) -> list[QuarantinedTool]:
    """Return the quarantined tools, and tools with these names whose read-only claim is not accepted."""
    server = runtime.state.servers[name]
    quarantined = list(await server.quarantined())
    known = {tool.name for tool in quarantined}
    claims = [
        QuarantinedTool(name=access.tool.name, reason=access.reason, old=None, new=access.tool)
        for access in await server.access()
        if access.is_claim_unaccepted and access.tool.name in names and access.tool.name not in known
    ]
    return quarantined + claims


def _show_quarantined(tools: Sequence[QuarantinedTool]) -> None:
    """Print quarantined tools with their reasons and differences."""
    for tool in tools:
        click.echo(mask(f"{tool.name}: {tool.reason}"), file=stdout())
        click.echo(mask(tool.difference()) + "\n", file=stdout())


def _show_instructions(instructions: InstructionsReview) -> None:
    """Print quarantined instructions with their reason and difference."""
    if instructions.reason:
        click.echo(mask(f"Instructions: {instructions.reason}"), file=stdout())
        click.echo(mask(instructions.difference) + "\n", file=stdout())
