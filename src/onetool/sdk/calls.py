"""The door inside a tool: a call from here walks the same pipeline, with the caller's rights and time."""

import asyncio
from collections.abc import Coroutine
from typing import Any, TypeVar

from onetool.domain.errors import ErrorCode, Reason
from onetool.runtime import Scope, current

T = TypeVar("T")


def call_tool(name: str, /, **kwargs: Any) -> Any:
    """Call another tool by its qualified name; return what it returns, raise what it raises.

    For functions that are not async; in an async one use `await call_tool_async(...)`.
    """
    scope = current()
    return wait_for(scope, call_in(scope, name, kwargs), f"call_tool({name!r})")


async def call_tool_async(name: str, /, **kwargs: Any) -> Any:
    """Call another tool by its qualified name; return what it returns, raise what it raises."""
    return await call_in(current(), name, kwargs)


async def call_in(scope: Scope, name: str, kwargs: dict[str, Any]) -> Any:
    """Call a tool on behalf of the one whose scope this is."""
    runtime = scope.runtime
    result = await runtime.call(runtime.new_call(name, kwargs, "sdk"), scope.invocation.inner_caller())
    if result.ok or result.meta.reason is Reason.RETURNED_ERROR:
        return result.data
    if result.error is not None and result.error.code is ErrorCode.TOOL_NOT_FOUND:
        pack = name.partition(".")[0]
        known = await runtime.catalog.has_pack(pack)
        raise ValueError(f"Tool not found: {name}" if known else f"Pack not found: {pack}") from result.raised
    raise result.raised or RuntimeError(f"{name} failed")


def wait_for(scope: Scope, work: Coroutine[Any, Any, T], what: str) -> T:
    """Let the event loop do the work while this thread waits; the only bridge back to the loop."""
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return asyncio.run_coroutine_threadsafe(work, scope.loop).result()
    work.close()
    raise RuntimeError(f"{what} would stop the event loop. In an async tool use: await call_tool_async(...)")
