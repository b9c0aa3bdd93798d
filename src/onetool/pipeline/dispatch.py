"""Run the tool, in time, and let no foreign exception past: the only place that touches a runner."""

import asyncio
from collections.abc import Callable
from typing import Any

from onetool.domain.call import ErrorText
from onetool.domain.errors import ExecutionError, Reason
from onetool.domain.invocation import Invocation
from onetool.domain.tool import Tool

from .leash import Leash, Timekeeper

Enter = Callable[[Invocation], Callable[[], None]]
"""Make an invocation the current one; returns what undoes that."""


class Raised(ExecutionError):
    """The tool raised; its exception is kept for the doors inside the process."""

    def __init__(self, error: BaseException) -> None:
        if type(error) is RuntimeError and str(error) == "coroutine raised StopIteration":
            error = error.__cause__ or error  # no coroutine can raise it: Python wraps it
        super().__init__(Reason.RAISED, describe(error))
        self.error = error
        self.builtin = next(kind.__name__ for kind in type(error).__mro__ if kind.__module__ == "builtins")


class ReturnedError(ExecutionError):
    """The tool returned an error text, which stays its data."""

    def __init__(self, text: ErrorText) -> None:
        super().__init__(Reason.RETURNED_ERROR, str(text))
        self.text = text


async def dispatch(tool: Tool, invocation: Invocation, enter: Enter, timekeeper: Timekeeper) -> Any:
    """Return what the tool returns.

    Raises ExecutionError, and CancelledError only when the caller's own task is cancelled.
    """
    if tool.runner is None:
        raise ExecutionError(Reason.NOT_REGISTERED, f"{tool.spec.name} has nothing that runs.")
    leash = Leash(invocation.deadline, timekeeper)
    leave = enter(invocation)
    failure: ExecutionError | None = None
    cancelled: asyncio.CancelledError | None = None
    output: Any = None
    try:
        output = await leash.walk(tool.runner(invocation.args, invocation))
    except ExecutionError as error:
        failure = error
    except asyncio.CancelledError as error:
        cancelled, failure = error, ExecutionError(Reason.CANCELLED, f"{invocation.tool} was cancelled.")
    except BaseException as error:  # noqa: BLE001 - a tool may raise anything, SystemExit too
        failure = Raised(error)
    finally:
        leave()
        invocation.over.is_up = True
        is_callers = leash.drop()
    if cancelled is not None and is_callers:
        raise cancelled  # the very one that was sent: cancel scopes know theirs by its text
    return _verdict(invocation, output, failure, expired=leash.expired)


def _verdict(invocation: Invocation, output: Any, failure: ExecutionError | None, *, expired: bool) -> Any:
    if failure is not None and expired:
        raise ExecutionError(Reason.TIMEOUT, f"{invocation.tool} took too long and was given up.")
    if failure is not None:
        raise failure
    if isinstance(output, ErrorText):
        raise ReturnedError(output)
    return output


def describe(error: BaseException) -> str:
    """The type of an exception and its text, if it has one that can be read."""
    try:
        text = str(error)
    except BaseException:  # noqa: BLE001 - an exception's own text may raise anything as well
        text = ""
    return f"{type(error).__name__}: {text}" if text else type(error).__name__
