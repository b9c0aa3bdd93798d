"""Tool calls from inside a tool, with the permissions and deadline of the outer caller."""

import asyncio
import time
from collections.abc import Callable, Coroutine
from concurrent.futures import Future
from functools import partial
from typing import Any, NamedTuple, TypeVar

from onetool.domain.calls.forwarding import FORWARDER
from onetool.domain.errors import ErrorCode, Reason
from onetool.runtime.active_call import ActiveCall, current_call
from onetool.threads import Threads

from .forwarding import in_runtime_async, refuse_on_event_loop, waits_in_runtime

T = TypeVar("T")
CHECK_S = 1.0
"""Time between two checks that the event loop that a thread waits for is not blocked, in seconds."""


@waits_in_runtime
def call_tool(name: str, /, **kwargs: Any) -> Any:
    """Call another tool by its qualified name. Returns its value and raises its exceptions.

    Use it in functions that are not async; in async functions, use `await call_tool_async(...)`.
    """
    return call_and_wait(current_call(), name, kwargs, f"call_tool({name!r})")


@in_runtime_async
async def call_tool_async(name: str, /, **kwargs: Any) -> Any:
    """Call another tool by its qualified name. Returns its value and raises its exceptions."""
    outcome = await _call(current_call(), name, kwargs)
    if outcome.error is not None and not isinstance(outcome.error, Exception):
        raise RuntimeError(f"{name} raised {type(outcome.error).__name__}.") from outcome.error
    return outcome.value()


async def to_thread(function: Callable[..., T], /, *args: Any, **kwargs: Any) -> T:
    """Run a function that blocks on a thread, as a part of the current call, and return its result.

    For async tools: `await to_thread(batch_execute, urls, fetch)`. If the call ends first, the function
    continues, and its result is dropped. Unlike `asyncio.to_thread`, any number of functions run at once:
    those that wait for each other do not wait for a free thread.
    """
    work = partial(function, *args, **kwargs)
    if FORWARDER.get() is None:
        return await current_call().runtime.threads.run(work)
    threads = Threads()
    try:
        return await threads.run(work)
    finally:
        threads.close()


def call_and_wait(active: ActiveCall, name: str, kwargs: dict[str, Any], operation: str) -> Any:
    """Call a tool for the active call and wait. Its exception is raised in the current thread."""
    refuse_on_event_loop(operation, f"await call_tool_async({name!r}, ...)")
    return wait_for(active, _call(active, name, kwargs), operation).value()


class _PendingCall(NamedTuple):
    """The value or exception of a nested call. SystemExit must not reach the event loop, so it is a value."""

    data: Any = None
    error: BaseException | None = None

    def value(self) -> Any:
        if self.error is not None:
            raise self.error
        return self.data


async def _call(active: ActiveCall, name: str, kwargs: dict[str, Any]) -> _PendingCall:
    if active.invocation.cancelled.is_set:
        return _PendingCall(
            None, RuntimeError(f"Cannot call {name}: the call of {active.invocation.tool} was cancelled.")
        )
    runtime = active.runtime
    result = await runtime.call_tool(name, kwargs, active.invocation.nested_caller(), "sdk")
    if result.ok or result.meta.reason is Reason.RETURNED_ERROR:
        return _PendingCall(result.data)
    if result.error is not None and result.error.code is ErrorCode.TOOL_NOT_FOUND:
        pack = name.partition(".")[0]
        has_pack = await runtime.state.catalog.has_pack(pack)
        not_found = ValueError(f"Tool not found: {name}" if has_pack else f"Pack not found: {pack}")
        not_found.__cause__ = result.raised
        return _PendingCall(None, not_found)
    return _PendingCall(None, result.raised or RuntimeError(f"{name} failed."))


def wait_for(active: ActiveCall, work: Coroutine[Any, Any, T], operation: str) -> T:
    """Run a coroutine on the event loop while this thread waits. The only way back to the loop.

    Raises:
        RuntimeError: The event loop is still blocked at the deadline, perhaps by code that waits for this
            thread.
    """
    try:
        refuse_on_event_loop(operation, "await to_thread(...) with a function that does this")
    except RuntimeError:
        work.close()
        raise
    return _result(active, asyncio.run_coroutine_threadsafe(work, active.loop), operation)


def _result(active: ActiveCall, future: "Future[T]", operation: str) -> T:
    while True:
        try:
            return future.result(CHECK_S)
        except TimeoutError:
            if future.done():  # it raised the TimeoutError itself
                return future.result()
        blocked_by = active.runtime.threads.watchdog.blocked_by
        if blocked_by and time.monotonic() > active.invocation.deadline:  # which the loop cannot notice
            future.cancel()
            raise RuntimeError(
                f"{operation} cannot run: the event loop is blocked by {blocked_by}. In an async tool, do "
                "not wait for threads; use: await to_thread(...) or await call_tool_async(...)"
            )
