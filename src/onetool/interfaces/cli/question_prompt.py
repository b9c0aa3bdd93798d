"""Questions on the terminal, shown one at a time: approvals, forms and pages to open."""

import asyncio
import sys
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import AbstractContextManager, asynccontextmanager, nullcontext
from dataclasses import replace
from typing import Any
from urllib.parse import urlsplit

import click

from onetool.domain.calls.approval_request import ApprovalRequest, call_digest
from onetool.domain.calls.caller import Caller
from onetool.domain.calls.question import CANCELLED, Action, Answer, Asker
from onetool.domain.jobs.job import OpenQuestion
from onetool.runtime.runtime import Runtime
from onetool.threads import Threads

from .command import mask, terminal_safe
from .form_fields import FormField, InvalidInput, form_fields

YES = ("y", "yes")
NO = ("n", "no")
ASKER = Asker(capabilities={"elicitation": {"form": {}, "url": {}}})
"""What a user at a terminal can be asked."""
SHOW = ("s", "show")


class QuestionPrompt:
    """Asks the user on the terminal."""

    def __init__(self, threads: Threads, quiet: Callable[[], AbstractContextManager[None]]) -> None:
        self._threads, self._quiet = threads, quiet
        self._lock = asyncio.Lock()
        self._line: asyncio.Future[str] | None = None

    async def present(self, approval: ApprovalRequest | None, question: OpenQuestion) -> Answer:
        """Show a question and return the user's answer.

        approval: the call to approve, if that is the question.
        """
        if approval is not None:
            return Answer("accept", {"allow": await self.confirm(approval)})
        async with self._lock:
            with self._quiet():
                try:
                    return await (self._page(question) if question.url else self._form(question))
                except EOFError:
                    return CANCELLED
                except asyncio.CancelledError:
                    click.echo("\n(Cancelled.)", err=True)
                    raise

    async def _form(self, question: OpenQuestion) -> Answer:
        self._show(f"Server {question.server!r} asks: {question.message}")
        action = await self._action("Answer")
        if action != "accept":
            return Answer(action)
        content: dict[str, Any] = {}
        for field in form_fields(question.schema):
            value = await self._value(field)
            if value is not None:
                content[field.name] = value
        return Answer("accept", content)

    async def _page(self, question: OpenQuestion) -> Answer:
        host = urlsplit(question.url).hostname
        self._show(f"Server {question.server!r} asks you to open a page of {host}: {question.message}")
        self._show(f"  {question.url}")
        return Answer(await self._action("Have you opened it"))

    async def _action(self, text: str) -> Action:
        """Ask whether the user accepts, declines or cancels a question. Anything else cancels it."""
        reply = await self._ask_line(f"{text}? [y/n to decline/c to cancel]: ")
        if reply.lower() in YES:
            return "accept"
        return "decline" if reply.lower() in NO else "cancel"

    async def _value(self, field: FormField) -> Any:
        while True:
            try:
                return field.parse(await self._ask_line(f"{field.prompt()}: "))
            except InvalidInput as error:
                self._show(str(error))

    def _show(self, text: str) -> None:
        click.echo(terminal_safe(mask(text), sys.stderr), err=True)

    async def _ask_line(self, text: str) -> str:
        discard_typed_input()
        click.echo(terminal_safe(mask(text), sys.stderr), err=True, nl=False)
        line = await self._read()
        if not line:
            raise EOFError
        return line.strip()

    async def confirm(self, request: ApprovalRequest) -> bool:
        """Return whether the user approved the call. Only `y` and `yes` do; `s` shows hidden parts first."""
        async with self._lock:
            with self._quiet():
                try:
                    return await self._ask(request)
                except asyncio.CancelledError:
                    click.echo("\n(Cancelled.)", err=True)
                    raise

    async def _ask(self, request: ApprovalRequest) -> bool:
        has_more = request.hides_something
        text = request.text()
        while True:
            choices = "y/N/s to show everything" if has_more else "y/N"
            discard_typed_input()
            click.echo(mask(f"{text}\nRun {request.tool}? [{choices}]: "), err=True, nl=False)
            reply = (await self._read()).strip().lower()
            if not (has_more and reply in SHOW):
                return reply in YES
            text, has_more = await self._threads.run(request.complete_text), False

    async def _read(self) -> str:
        """Read the next line. A pending read of a cancelled question serves the next question."""
        if self._line is None or self._line.done():
            self._line = asyncio.ensure_future(self._threads.run(sys.stdin.readline))
        return await asyncio.shield(self._line)


def has_terminal() -> bool:
    """Return whether a user can be asked."""
    return sys.stdin.isatty() and sys.stderr.isatty()


@asynccontextmanager
async def asked_on_terminal(
    runtime: Runtime,
    caller: Caller,
    tool: str,
    args: Mapping[str, Any],
    quiet: Callable[[], AbstractContextManager[None]] = nullcontext,
) -> AsyncIterator[Caller]:
    """Yield the caller for a call whose questions are asked on the terminal, if there is one."""
    if not has_terminal():
        yield caller
        return
    prompt = QuestionPrompt(runtime.threads, quiet)

    async def present(job: str, question: OpenQuestion) -> Answer:
        return await prompt.present(runtime.jobs.approval(job, question.id), question)

    caller = replace(caller, asker=ASKER.with_roots(runtime.state.configuration.shown_roots))
    async with runtime.jobs.track(caller, tool, call_digest(tool, args), present) as own:
        yield own


def discard_typed_input() -> None:
    """Drop what was typed before the question was shown. It is not an answer to this question."""
    if not sys.stdin.isatty():
        return
    if sys.platform == "win32":  # pragma: no cover - the same with other system calls
        import msvcrt

        while msvcrt.kbhit():
            msvcrt.getwch()
    else:
        import termios

        termios.tcflush(sys.stdin, termios.TCIFLUSH)
