"""Why a server cannot be used at present."""

import asyncio
from typing import Any


class Down(Exception):
    """The server cannot be reached, or could not be started; the text says why."""


class NotSent(Down):
    """A request never reached the server: asking once more can do nothing twice."""


def take_note(task: "asyncio.Task[Any]") -> None:
    """Look at the failure of a task that nobody may be waiting for."""
    if not task.cancelled():
        task.exception()


def describe(error: BaseException) -> str:
    """The first real cause in a group of exceptions, as one line."""
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    text = str(error)
    if isinstance(error, Down):
        return text
    return f"{type(error).__name__}: {text}" if text else type(error).__name__
