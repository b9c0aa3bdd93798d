"""The door inside a tool: a call from here walks the same pipeline, with the caller's rights and time."""

import asyncio
from collections.abc import Coroutine
from typing import Any, NamedTuple, TypeVar

from onetool.domain.errors import ErrorCode, Reason
from onetool.runtime import Scope, current

T = TypeVar("T")


def call_tool(name: str, /, **kwargs: Any) -> Any:
    """Call another tool by its qualified name; return what it returns, raise what it raises.

    For functions that are not async; in an async one use `await call_tool_async(...)`.
    """
    return call_and_wait(current(), name, kwargs, f"call_tool({name!r})")


async def call_tool_async(name: str, /, **kwargs: Any) -> Any:
    """Call another tool by its qualified name; return what it returns, raise what it raises."""
    called = await _call(current(), name, kwargs)
    if called.error is not None and not isinstance(called.error, Exception):
        raise RuntimeError(f"{name} raised {type(called.error).__name__}") from called.error
    return called.value()


def call_and_wait(scope: Scope, name: str, kwargs: dict[str, Any], what: str) -> Any:
    """Call a tool on behalf of the one whose scope this is; what it raised is raised in this very thread."""
    return wait_for(scope, _call(scope, name, kwargs), what).value()


class _Called(NamedTuple):
    """What came of a call. An event loop must not meet SystemExit, so exceptions travel as values."""

    data: Any = None
    error: BaseException | None = None

    def value(self) -> Any:
        if self.error is not None:
            raise self.error
        return self.data


async def _call(scope: Scope, name: str, kwargs: dict[str, Any]) -> _Called:
    if scope.invocation.over.is_up:
        return _Called(
            None, RuntimeError(f"{name} was not called: nobody waits for {scope.invocation.tool} any more")
        )
    runtime = scope.runtime
    result = await runtime.call(runtime.new_call(name, kwargs, "sdk"), scope.invocation.inner_caller())
    if result.ok or result.meta.reason is Reason.RETURNED_ERROR:
        return _Called(result.data)
    if result.error is not None and result.error.code is ErrorCode.TOOL_NOT_FOUND:
        pack = name.partition(".")[0]
        known = await runtime.catalog.has_pack(pack)
        missing = ValueError(f"Tool not found: {name}" if known else f"Pack not found: {pack}")
        missing.__cause__ = result.raised
        return _Called(None, missing)
    return _Called(None, result.raised or RuntimeError(f"{name} failed"))


def wait_for(scope: Scope, work: Coroutine[Any, Any, T], what: str) -> T:
    """Let the event loop do the work while this thread waits; the only bridge back to the loop."""
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return asyncio.run_coroutine_threadsafe(work, scope.loop).result()
    work.close()
    raise RuntimeError(f"{what} would stop the event loop. In an async tool use: await call_tool_async(...)")
