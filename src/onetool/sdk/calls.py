"""Tool calls from inside a tool, with the permissions and deadline of the outer caller."""

import asyncio
from collections.abc import Coroutine
from typing import Any, NamedTuple, TypeVar

from onetool.domain.errors import ErrorCode, Reason
from onetool.runtime.active_call import ActiveCall, current_call

from .forwarding import in_runtime_async, waits_in_runtime

T = TypeVar("T")


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


def call_and_wait(active: ActiveCall, name: str, kwargs: dict[str, Any], operation: str) -> Any:
    """Call a tool for the active call and wait. Its exception is raised in the current thread."""
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
    """Run a coroutine on the event loop while this thread waits. The only way back to the loop."""
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return asyncio.run_coroutine_threadsafe(work, active.loop).result()
    work.close()
    raise RuntimeError(
        f"{operation} would block the event loop. In an async tool, use: await call_tool_async(...)"
    )
