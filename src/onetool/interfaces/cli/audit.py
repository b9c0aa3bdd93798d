"""`onetool admin audit`: who has changed what in a workspace of a hosted OneTool."""

import asyncio
import os
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import click

from onetool.domain.audit.entry import AuditEntry, AuditFilter, entry_json
from onetool.domain.errors import SettingsError, StoreUnavailable
from onetool.domain.text.json_text import encode
from onetool.domain.text.strings import pluralize
from onetool.files.installation import extra_command

from .command import json_option, print_json, stdout, use_json
from .hosted import DATABASE_URL, KEYS, exit_on_hosted_error, variable
from .since import Since

if TYPE_CHECKING:
    from onetool.bootstrap.hosted_admin import WorkspaceContents

PAGE_SIZE = 500
OTLP_ENDPOINTS = ("OTEL_EXPORTER_OTLP_ENDPOINT", "OTEL_EXPORTER_OTLP_LOGS_ENDPOINT")
COLUMNS = ("TIME", "ACTOR", "THROUGH", "ACTION", "TARGET", "DETAIL")


@click.command()
@click.argument("slug")
@click.option("--actor", metavar="NAME", help="Only changes by this principal, such as `operator`.")
@click.option("--action", metavar="NAME", help="Only this action or kind, such as `key` or `key.revoke`.")
@click.option("--target", metavar="NAME", help="Only changes of this id or name.")
@click.option("--since", type=Since(), metavar="WHEN", help="Only changes since `15m`, `2h`, `7d` or a time.")
@click.option("-n", "--limit", default=50, show_default=True, type=click.IntRange(1, 10_000), help="Changes.")
@click.option("--export", "is_export", is_flag=True, help="Print all of them, as lines of JSON.")
@click.option(
    "--otlp", "is_sent", is_flag=True, help="Send all of them as logs to `OTEL_EXPORTER_OTLP_ENDPOINT`."
)
@json_option
def audit(slug: str, limit: int, is_export: bool, is_sent: bool, as_json: bool, **words: Any) -> None:
    """List who has changed what in workspace SLUG, newest first.

    \b
    Examples:
      onetool admin audit team-a --action key --since 30d
      onetool admin audit team-a --export > audit.jsonl
      onetool admin audit team-a --since 1d --otlp
    """
    filter = AuditFilter(**words)

    async def run() -> None:
        from onetool.bootstrap.hosted_admin import open_contents

        async with open_contents(variable(DATABASE_URL), variable(KEYS), slug) as contents:
            if is_sent:
                await _send(contents, filter, slug)
            elif is_export:
                await _export(contents, filter)
            else:
                _print(await _find(contents, filter, limit), as_json=as_json)

    with exit_on_hosted_error():
        asyncio.run(run())


async def _export(contents: "WorkspaceContents", filter: AuditFilter) -> None:
    async for chunk in contents.audit.export(filter):
        for entry in chunk:
            click.echo(encode(entry_json(entry)), file=stdout())


async def _send(contents: "WorkspaceContents", filter: AuditFilter, slug: str) -> None:
    """Send entries to an OTLP endpoint. Those that arrive twice have the same id."""
    if not any(os.environ.get(name) for name in OTLP_ENDPOINTS):
        raise SettingsError(f"Set {OTLP_ENDPOINTS[0]}, such as http://collector:4318.")
    try:
        from onetool.telemetry.audit_logs import AuditLogExport
    except ModuleNotFoundError:
        raise SettingsError(f"Nothing was sent. Run: {extra_command('otel')}") from None

    export, sent = AuditLogExport(slug), 0
    try:
        async for chunk in contents.audit.export(filter):
            if problem := await asyncio.to_thread(export.send, chunk):
                message = f"The OTLP endpoint does not accept logs ({problem}). Sent so far: {sent:,}."
                raise StoreUnavailable(message)
            sent += len(chunk)
    finally:
        export.close()
    click.echo(f"Sent {pluralize(sent, 'change')}.", file=stdout())


async def _find(contents: "WorkspaceContents", filter: AuditFilter, limit: int) -> list[AuditEntry]:
    """Return the newest entries."""
    found, cursor = list[AuditEntry](), None
    while len(found) < limit:
        page = await contents.audit.page(filter, cursor, min(limit - len(found), PAGE_SIZE))
        found += page.items
        if (cursor := page.next) is None:
            break
    return found


def _print(entries: Sequence[AuditEntry], *, as_json: bool) -> None:
    if use_json(as_json):
        print_json([entry_json(entry) for entry in entries])
    elif entries:
        from .tables import table

        table(COLUMNS, [_row(entry) for entry in entries])
    else:
        click.echo("No changes.", file=stdout())


def _row(entry: AuditEntry) -> tuple[str, ...]:
    at = datetime.fromtimestamp(entry.at, UTC).astimezone()
    detail = encode(entry.detail).decode() if entry.detail else ""
    return f"{at:%Y-%m-%d %H:%M:%S}", entry.actor, entry.interface, entry.action, entry.target, detail
