"""`onetool sessions`: list, show and delete stored conversations."""

from datetime import UTC, datetime
from typing import Any

import click

from onetool.domain.bundles.page_tokens import MAX_PAGE_SIZE
from onetool.domain.chat.transcript import InvalidSession, replay
from onetool.runtime.runtime import Runtime

from .command import json_option, mask, print_json, stdout, use_json, with_runtime
from .completion import session_names
from .groups import CommandGroup

MARKS = {"user": "?", "assistant": " ", "tool": ">"}


@click.group(cls=CommandGroup)
def sessions() -> None:
    """List, show and delete stored conversations.

    \b
    Examples:
      onetool sessions list
      onetool sessions show work
    """


@sessions.command("list")
@json_option
def list_sessions(as_json: bool) -> None:
    """List sessions, newest first.

    \b
    Example:
      onetool sessions list
    """

    async def list_page(runtime: Runtime) -> list[Any]:
        page = await runtime.sessions.page(None, MAX_PAGE_SIZE)
        return list(page.items)

    summaries = with_runtime(list_page)
    if use_json(as_json):
        print_json([summary.to_json() for summary in summaries])
        return
    if not summaries:
        click.echo("No sessions yet. Start one: onetool ask 'What time is it?'", file=stdout())
        return
    from .tables import table

    rows = [
        (
            summary.id,
            datetime.fromtimestamp(summary.at, UTC).astimezone().strftime("%Y-%m-%d %H:%M"),
            str(summary.messages),
            summary.title,
        )
        for summary in summaries
    ]
    table(("SESSION", "UPDATED", "MESSAGES", "TITLE"), rows)


@sessions.command()
@click.argument("session", shell_complete=session_names)
@json_option
def show(session: str, as_json: bool) -> None:
    """Show a session's messages.

    \b
    Example:
      onetool sessions show work
    """
    records = _run(lambda runtime: runtime.sessions.read(session))
    if not records:
        raise click.BadParameter(f"unknown session {session!r}. List sessions with: onetool sessions list")
    if use_json(as_json):
        print_json(list(records))
        return
    for message in replay(records).messages:
        calls = "".join(f"\n  {call.name}({call.arguments_text})" for call in message.calls)
        click.echo(
            mask(f"{MARKS[message.role]} {message.name} {message.text_for_user}{calls}"), file=stdout()
        )


@sessions.command()
@click.argument("session", shell_complete=session_names)
def delete(session: str) -> None:
    """Delete a session permanently.

    \b
    Example:
      onetool sessions delete work
    """
    if not _run(lambda runtime: runtime.sessions.delete(session)):
        raise click.BadParameter(f"unknown session {session!r}. List sessions with: onetool sessions list")
    click.echo(f"Deleted {session}.", file=stdout())


def _run(action: Any) -> Any:
    try:
        return with_runtime(action)
    except InvalidSession as error:
        raise click.BadParameter(str(error)) from None
