"""The call that the running code belongs to."""

import asyncio
from collections.abc import Callable, Iterator
from contextlib import contextmanager
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


_active: ContextVar[tuple[Runtime, Invocation | None]] = ContextVar("onetool")
"""The runtime and its call in progress; no call for code that runs for the runtime alone."""


def current_call() -> ActiveCall:
    """Return the call that the running code belongs to.

    Raises:
        NoActiveRuntime: The code does not run inside a tool.
    """
    runtime, invocation = _active.get((None, None))
    if runtime is None or invocation is None:
        raise NoActiveRuntime(
            "No OneTool is running here. Call this inside a tool, or start one: "
            "with onetool_runtime() as ot: ot.call('tools.echo', message='hi'). "
            "In a thread of your own, use a ThreadPoolExecutor, whose tasks belong to the call that submits "
            "them, or start the thread with contextvars.copy_context().run."
        )
    return ActiveCall(runtime, invocation, runtime.loop)


def current_runtime() -> Runtime:
    """Return the runtime that the running code belongs to, with or without a call.

    Raises:
        NoActiveRuntime: The code does not run for a runtime.
    """
    runtime, _ = _active.get((None, None))
    return current_call().runtime if runtime is None else runtime


def is_in_call() -> bool:
    """Return whether the running code belongs to a call."""
    return _active.get((None, None))[1] is not None


def activate_call(runtime: Runtime, invocation: Invocation) -> Callable[[], None]:
    """Make this the current call for the code that runs next; return the function that undoes it."""
    token = _active.set((runtime, invocation))
    return lambda: _active.reset(token)


@contextmanager
def running_for(runtime: Runtime) -> Iterator[None]:
    """Make code run for a runtime, without a call: it has the runtime's secrets and cannot call tools."""
    token = _active.set((runtime, None))
    try:
        yield
    finally:
        _active.reset(token)
