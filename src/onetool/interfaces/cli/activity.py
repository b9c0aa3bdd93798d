"""`onetool activity`: list, follow and show the calls of all interfaces."""

import asyncio
import time
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any

import click

from onetool.domain.activity.record import ActivityFilter, CallRecord
from onetool.domain.activity.record_json import record_json, tree_json
from onetool.domain.text.json_text import encode
from onetool.runtime.runtime import Runtime

from .command import json_option, mask_values, print_json, stdout, use_json, with_runtime
from .groups import CommandGroup
from .since import UNITS, Since

PAGE_SIZE = 200
POLL_INTERVAL_S = 0.5
COLUMNS = ("ID", "TIME", "TOOL", "STATUS", "MS", "FROM")


@click.group(cls=CommandGroup, invoke_without_command=True)
@click.option("--tool", metavar="PATTERN", help="Only this tool, pack or pattern, such as `fs.*`.")
@click.option("--interface", metavar="NAME", help="Only calls from this interface, such as `mcp`.")
@click.option("--client", metavar="NAME", help="Only calls of this MCP client.")
@click.option("--profile", metavar="NAME", help="Only calls with this profile.")
@click.option("--session", metavar="NAME", help="Only calls of this session.")
@click.option("--failed", is_flag=True, help="Only failed calls.")
@click.option("--since", type=Since(), metavar="WHEN", help="Only calls since `15m`, `2h`, `7d` or a time.")
@click.option("-n", "--limit", default=50, show_default=True, type=click.IntRange(1, 10_000), help="Calls.")
@click.option("-f", "--follow", is_flag=True, help="Wait for new calls until Ctrl-C.")
@json_option
@click.pass_context
def activity(
    ctx: click.Context, /, failed: bool, limit: int, follow: bool, as_json: bool, **words: Any
) -> None:
    """List finished calls, newest first. Filters can be combined.

    \b
    Examples:
      onetool activity
      onetool activity --failed --since 1h
      onetool activity --tool fs -f
      onetool activity show 0198c5a0-7e4d-7c3a-8a51-1f0e5b2d9c77
    """
    if ctx.invoked_subcommand is not None:
        return
    filter = ActivityFilter(ok=False if failed else None, **words)

    async def run(runtime: Runtime) -> None:
        records = await _find(runtime, filter, limit)
        _print(records[::-1] if follow else records, as_json=as_json, follow=follow)
        if follow:
            await _follow(runtime, filter, {record.id for record in records}, as_json)

    with_runtime(run)


@activity.command()
@click.argument("id")
@json_option
def show(id: str, as_json: bool) -> None:
    """Show a call with its arguments, its result and all calls inside it.

    \b
    Example:
      onetool activity show 0198c5a0-7e4d-7c3a-8a51-1f0e5b2d9c77
    """
    records = with_runtime(lambda runtime: _tree(runtime, id))
    if not records:
        raise click.BadParameter(f"no call {id!r} is recorded. List calls with: onetool activity")
    if use_json(as_json):
        print_json(tree_json(records, id))
        return
    from .activity_tree import print_tree

    print_tree(records, id)


async def _tree(runtime: Runtime, id: str) -> Sequence[CallRecord]:
    return await (await runtime.recorder.written()).tree(id)


async def _find(runtime: Runtime, filter: ActivityFilter, limit: int) -> list[CallRecord]:
    """Return the newest calls."""
    store, found, cursor = await runtime.recorder.written(), list[CallRecord](), None
    while len(found) < limit:
        try:
            page = await store.page(filter, cursor, min(limit - len(found), PAGE_SIZE))
        except ValueError as error:
            raise click.BadParameter(str(error)) from None
        found += page.items
        if (cursor := page.next) is None:
            break
    return found


async def _follow(runtime: Runtime, filter: ActivityFilter, seen: set[str], as_json: bool) -> None:
    """Print calls as they end, oldest first, until the command is interrupted."""
    store = await runtime.recorder.written()
    before = None
    while True:
        generation = store.generation()
        if generation != before:
            new = [record for record in await _find(runtime, filter, PAGE_SIZE) if record.id not in seen]
            seen |= {record.id for record in new}
            _print(new[::-1], as_json=as_json, follow=True, header=False)
            before = generation
        await asyncio.sleep(POLL_INTERVAL_S)


def _print(records: Sequence[CallRecord], *, as_json: bool, follow: bool, header: bool = True) -> None:
    if use_json(as_json):
        if not follow:
            print_json([record_json(record) for record in records])
            return
        for record in records:
            click.echo(encode(mask_values(record_json(record))), file=stdout())
        stdout().flush()
        return
    if not records:
        if header and not follow:
            click.echo("No calls.", file=stdout())
        return
    from .tables import table

    table(COLUMNS if header else [""] * len(COLUMNS), [_row(record) for record in records])
    if not follow:
        click.echo("Details of one: onetool activity show ID", err=True)


def _row(record: CallRecord) -> tuple[str, ...]:
    is_recent = record.started > time.time() - UNITS["d"]
    at = datetime.fromtimestamp(record.started, UTC).astimezone()
    status = record.reason.value if record.reason else "ok"
    return (
        record.id,
        at.strftime("%H:%M:%S" if is_recent else "%m-%d %H:%M"),
        f"  {record.tool}" if record.parent else record.tool,
        status,
        f"{record.duration_ms:.1f}",
        f"{record.interface} {record.client}".strip(),
    )
