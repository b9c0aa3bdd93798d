"""Runs a tool under its deadline and maps everything it raises. No other module calls a runner."""

import asyncio
from collections.abc import Callable
from typing import Any

from onetool.domain.calls.call import ErrorNote, ErrorText
from onetool.domain.calls.invocation import Invocation
from onetool.domain.errors import ExecutionError, Reason
from onetool.domain.tools.tool import Tool

from .deadline import DeadlineRunner, DeadlineTimer

ActivateCall = Callable[[Invocation], Callable[[], None]]
"""Makes an invocation the current one and returns a function that undoes it."""


class ToolRaised(ExecutionError):
    """The tool raised an exception. In-process interfaces raise the original again."""

    def __init__(self, error: BaseException) -> None:
        if type(error) is RuntimeError and str(error) == "coroutine raised StopIteration":
            error = error.__cause__ or error  # Python wraps a StopIteration that leaves a coroutine
        super().__init__(Reason.RAISED, describe(error))
        self.error = error
        self.builtin = next(kind.__name__ for kind in type(error).__mro__ if kind.__module__ == "builtins")


class ToolReturnedError(ExecutionError):
    """The tool returned an error text. The text is also the data of the result."""

    def __init__(self, text: ErrorText) -> None:
        super().__init__(Reason.RETURNED_ERROR, str(text))
        self.text = text


async def dispatch(tool: Tool, invocation: Invocation, activate: ActivateCall, timer: DeadlineTimer) -> Any:
    """Run the tool and return its output.

    Raises:
        ExecutionError: The tool failed, timed out or cancelled itself.
        asyncio.CancelledError: The caller's own task was cancelled.
    """
    if tool.runner is None:
        raise ExecutionError(Reason.NOT_REGISTERED, f"{tool.spec.name} has no implementation.")
    task = invocation.task
    if task is not None and not (tool.endpoint and tool.endpoint == task.endpoint):
        message = f"{tool.spec.name} does not belong to the server of the task any more."
        raise ExecutionError(Reason.NOT_REGISTERED, message)
    pauses = invocation.caller.pauses
    runner = DeadlineRunner(invocation.first_deadline, timer, pauses, invocation.paused_before)
    deactivate = activate(invocation)
    failure: ExecutionError | None = None
    cancelled: asyncio.CancelledError | None = None
    output: Any = None
    try:
        output = await runner.run(tool.runner(invocation.args, invocation))
    except ExecutionError as error:
        failure = error
    except asyncio.CancelledError as error:
        cancelled, failure = error, ExecutionError(Reason.CANCELLED, f"{invocation.tool} was cancelled.")
    except BaseException as error:  # noqa: BLE001 - a tool may raise anything, even SystemExit
        _name_missing_secrets(error, invocation)
        failure = ToolRaised(error)
    finally:
        deactivate()
        invocation.cancelled.is_set = True
        caller_was_cancelled = runner.detach()
    if cancelled is not None and caller_was_cancelled:
        raise cancelled  # the original: cancel scopes recognize their own by its message
    return _outcome(invocation, output, failure, expired=runner.expired)


def _outcome(invocation: Invocation, output: Any, failure: ExecutionError | None, *, expired: bool) -> Any:
    if failure is not None and expired:
        limit = f" {invocation.limit}" if invocation.limit else ""
        raise ExecutionError(Reason.TIMEOUT, f"{invocation.tool} timed out{limit}.")
    if failure is not None:
        raise failure
    if isinstance(output, ErrorText):
        raise ToolReturnedError(output)
    return output


def _name_missing_secrets(error: BaseException, invocation: Invocation) -> None:
    """Add the secrets that the call has asked for and that are not set: their absence may be the cause."""
    for name, how_to_add in (invocation.missing_secrets or {}).items():
        note = ErrorNote(f"The secret {name!r} is not set. Add it {how_to_add}.")
        if note not in getattr(error, "__notes__", ()):  # a call inside this one has added it
            error.add_note(note)


def describe(error: BaseException) -> str:
    """Return the type of an exception, and its text and our notes if it has any."""
    try:
        notes = [note for note in getattr(error, "__notes__", ()) if isinstance(note, ErrorNote)]
        text = " ".join([str(error), *notes])
    except BaseException:  # noqa: BLE001 - `__str__` of a foreign exception may raise anything
        text = ""
    return f"{type(error).__name__}: {text}" if text else type(error).__name__
