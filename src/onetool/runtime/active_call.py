"""The call that the running code belongs to."""

import asyncio
from collections.abc import Callable
from contextvars import ContextVar
from typing import NamedTuple

from onetool.domain.calls.invocation import Invocation
from onetool.domain.errors import NoActiveRuntime

from .runtime import Runtime


class ActiveCall(NamedTuple):
    """A call in progress, the runtime that runs it, and the runtime's event loop."""

    runtime: Runtime
    invocation: Invocation
    loop: asyncio.AbstractEventLoop


_active: ContextVar[tuple[Runtime, Invocation]] = ContextVar("onetool")


def current_call() -> ActiveCall:
    """Return the call that the running code belongs to.

    Raises:
        NoActiveRuntime: The code does not run inside a tool.
    """
    try:
        runtime, invocation = _active.get()
    except LookupError:
        raise NoActiveRuntime(
            "No OneTool is running here. Call this inside a tool, or start one: "
            "with onetool_runtime() as ot: ot.call('tools.echo', message='hi'). "
            "In your own thread, start it with contextvars.copy_context().run."
        ) from None
    return ActiveCall(runtime, invocation, runtime.loop)


def activate_call(runtime: Runtime, invocation: Invocation) -> Callable[[], None]:
    """Make this the current call for the code that runs next; return the function that undoes it."""
    token = _active.set((runtime, invocation))
    return lambda: _active.reset(token)
