"""`onetool servers logs`: what the program of a server wrote, and what OneTool logged about it."""

import asyncio
from datetime import datetime
from pathlib import Path

import click

from onetool.interfaces.server_log import read_log

from .command import current_paths, json_option, mask, print_json, stdout, use_json
from .completion import server_names
from .server_selection import select_servers

POLL_INTERVAL_S = 0.5


@click.command()
@click.argument("name", shell_complete=server_names)
@click.option("-f", "--follow", is_flag=True, help="Wait for new lines until Ctrl-C.")
@click.option("-n", "--lines", "limit", default=100, type=click.IntRange(1, 10_000), help="Number of lines.")
@json_option
def logs(name: str, follow: bool, limit: int, as_json: bool) -> None:
    """Show what a server wrote to stderr, and what OneTool logged about it.

    \b
    Examples:
      onetool servers logs github
      onetool servers logs github -f
    """
    select_servers([name], only_enabled=False)
    file = current_paths().log_file
    entries = read_log(file, f"onetool.servers.{name}", limit)
    if use_json(as_json):
        print_json(entries)
        return
    for entry in entries:
        _print_entry(entry)
    if not entries and not follow:
        click.echo(f"Nothing logged about {name}. Start it with: onetool servers test {name}", err=True)
    if follow:
        asyncio.run(_follow(file, name, entries))


async def _follow(file: Path, name: str, seen: list[dict[str, str]]) -> None:
    """Print new entries until the command is interrupted."""
    while True:
        await asyncio.sleep(POLL_INTERVAL_S)
        entries = await asyncio.to_thread(read_log, file, f"onetool.servers.{name}", 10_000)
        start = _position_after(entries, seen[-1]) if seen else 0
        for entry in entries[start:]:
            _print_entry(entry)
        seen = entries or seen


def _position_after(entries: list[dict[str, str]], last: dict[str, str]) -> int:
    """Return the position after the last entry that was printed; 0 if the log no longer has it."""
    positions = (index for index in reversed(range(len(entries))) if entries[index] == last)
    return next(positions, -1) + 1


def _print_entry(entry: dict[str, str]) -> None:
    at = datetime.fromisoformat(entry["at"]).astimezone().strftime("%H:%M:%S")
    level = "" if entry["level"] == "info" else f"{entry['level']}: "
    click.echo(mask(f"{at} {level}{entry['message']}"), file=stdout())
