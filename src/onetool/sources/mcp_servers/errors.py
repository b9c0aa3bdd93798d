"""Errors of MCP servers, and helpers to report them."""

import asyncio
from typing import Any


class ServerUnavailable(Exception):
    """The server cannot be started or reached. The message is a fragment without a full stop."""


class RequestNotSent(ServerUnavailable):
    """A request never reached the server, so it is safe to send it again."""


class NoResponse(ServerUnavailable):
    """A request may have reached a server, but its response did not arrive."""


def consume_exception(task: "asyncio.Task[Any]") -> None:
    """Mark the exception of a task as retrieved: asyncio reports it otherwise if no one awaits the task."""
    if not task.cancelled():
        task.exception()


def describe(error: BaseException) -> str:
    """Return the first error of an exception group, or the error itself, as text."""
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    text = str(error)
    if isinstance(error, ServerUnavailable):
        return text
    return f"{type(error).__name__}: {text}" if text else type(error).__name__


def as_fragment(error: Exception) -> str:
    """Return the message of an error without its full stop, to embed it in another message."""
    return str(error).removesuffix(".")
