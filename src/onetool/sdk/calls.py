"""The door inside a tool: a call from here walks the same pipeline, with the caller's rights and time."""

import asyncio
from typing import Any

from onetool.domain.errors import ErrorCode, Reason
from onetool.runtime import Scope, current


def call_tool(name: str, /, **kwargs: Any) -> Any:
    """Call another tool by its qualified name; return what it returns, raise what it raises.

    For functions that are not async; in an async one use `await call_tool_async(...)`.
    """
    scope = current()
    if _on_event_loop():
        raise RuntimeError(
            f"call_tool({name!r}) would stop the event loop. Use: await call_tool_async({name!r}, ...)"
        )
    return asyncio.run_coroutine_threadsafe(_call(scope, name, kwargs), scope.loop).result()


async def call_tool_async(name: str, /, **kwargs: Any) -> Any:
    """Call another tool by its qualified name; return what it returns, raise what it raises."""
    return await _call(current(), name, kwargs)


async def _call(scope: Scope, name: str, kwargs: dict[str, Any]) -> Any:
    runtime = scope.runtime
    result = await runtime.call(runtime.new_call(name, kwargs, "sdk"), scope.invocation.inner_caller())
    if result.ok or result.meta.reason is Reason.RETURNED_ERROR:
        return result.data
    if result.error is not None and result.error.code is ErrorCode.TOOL_NOT_FOUND:
        pack = name.partition(".")[0]
        known = await runtime.catalog.has_pack(pack)
        raise ValueError(f"Tool not found: {name}" if known else f"Pack not found: {pack}") from result.raised
    raise result.raised or RuntimeError(f"{name} failed")


def _on_event_loop() -> bool:
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return False
    return True
