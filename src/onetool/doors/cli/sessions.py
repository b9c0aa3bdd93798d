"""`onetool sessions`: conversations that were kept."""

from datetime import UTC, datetime
from typing import Any

import click

from onetool.domain.page_tokens import LARGEST_PAGE
from onetool.domain.transcript import BadSession, add_up
from onetool.runtime import Runtime

from .completion import session_names
from .session import answers, json_option, masked, wants_json, with_runtime, write_json

MARKS = {"user": "?", "assistant": " ", "tool": ">"}


@click.group()
def sessions() -> None:
    """List and show conversations, and remove them.

    \b
    Examples:
      onetool sessions list
      onetool sessions show work
    """


@sessions.command("list")
@json_option
def list_sessions(as_json: bool) -> None:
    """List the sessions, the newest first.

    \b
    Example:
      onetool sessions list
    """

    async def look(runtime: Runtime) -> list[Any]:
        page = await runtime.threads.run(runtime.sessions.page, None, LARGEST_PAGE)
        return list(page.items)

    found = with_runtime(look)
    if wants_json(as_json):
        write_json([head.to_json() for head in found])
        return
    if not found:
        click.echo("No sessions yet. Begin one: onetool ask 'What time is it?'", file=answers())
        return
    from .screen import table

    rows = [
        (
            head.id,
            datetime.fromtimestamp(head.at, UTC).astimezone().strftime("%Y-%m-%d %H:%M"),
            str(head.messages),
            head.title,
        )
        for head in found
    ]
    table(("SESSION", "LAST", "MESSAGES", "BEGINS WITH"), rows)


@sessions.command()
@click.argument("session", shell_complete=session_names)
@json_option
def show(session: str, as_json: bool) -> None:
    """Show what was said in a SESSION.

    \b
    Example:
      onetool sessions show work
    """
    records = _with(lambda runtime: runtime.threads.run(runtime.sessions.read, session))
    if not records:
        raise click.BadParameter(f"there is no session {session!r}. See: onetool sessions list")
    if wants_json(as_json):
        write_json(list(records))
        return
    for message in add_up(records).messages:
        calls = "".join(f"\n  {call.name}({call.arguments_text})" for call in message.calls)
        click.echo(masked(f"{MARKS[message.role]} {message.name} {message.text}{calls}"), file=answers())


@sessions.command()
@click.argument("session", shell_complete=session_names)
def delete(session: str) -> None:
    """Remove a SESSION for good.

    \b
    Example:
      onetool sessions delete work
    """
    if not _with(lambda runtime: runtime.threads.run(runtime.sessions.delete, session)):
        raise click.BadParameter(f"there is no session {session!r}. See: onetool sessions list")
    click.echo(f"Removed {session}.", file=answers())


def _with(use: Any) -> Any:
    try:
        return with_runtime(use)
    except BadSession as error:
        raise click.BadParameter(str(error)) from None
