"""SDK functions that run in the process of the runtime, also for packs in worker processes."""

import asyncio
import inspect
from collections.abc import Callable, Coroutine, Mapping, Sequence
from functools import partial, wraps
from typing import Any, ParamSpec, TypeVar

from onetool.domain.calls.forwarding import FORWARDER
from onetool.runtime.active_call import current_call

P = ParamSpec("P")
T = TypeVar("T")
ASYNC_TWINS = {"call_tool": "call_tool_async(...)"}
"""What async tools use in place of a function that blocks. For all others, they use a thread."""

_functions: dict[str, Callable[..., Any]] = {}
"""The functions that a worker process may call, by name."""


def on_event_loop() -> bool:
    """Return whether the current thread runs an event loop."""
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return False
    return True


def refuse_on_event_loop(operation: str, instead: str) -> None:
    """Raise an error in an async tool: to wait there would stop every call, also those that are waited for.

    Raises:
        RuntimeError: The thread runs an event loop. The message names `instead`, which does not block.
    """
    if on_event_loop():
        raise RuntimeError(f"{operation} would block the event loop. In an async tool, use: {instead}")


def in_runtime(function: Callable[P, T]) -> Callable[P, T]:
    """Make a function run in the process of the runtime."""
    name = function.__name__
    _functions[name] = function

    @wraps(function)
    def run(*args: P.args, **kwargs: P.kwargs) -> T:
        forwarder = FORWARDER.get()
        if forwarder is None:
            return function(*args, **kwargs)
        return forwarder.call(name, args, kwargs)  # type: ignore[no-any-return]

    return run


def waits_in_runtime(function: Callable[P, T]) -> Callable[P, T]:
    """Make a function that waits for the event loop run in the process of the runtime.

    In a worker process as in that of the runtime, it cannot be used on an event loop.
    """
    run, name = in_runtime(function), function.__name__
    instead = f"await {ASYNC_TWINS.get(name, f'to_thread({name}, ...)')}"

    @wraps(function)
    def check_and_run(*args: P.args, **kwargs: P.kwargs) -> T:
        refuse_on_event_loop(f"{name}()", instead)
        return run(*args, **kwargs)

    return check_and_run


def in_runtime_async(
    function: Callable[P, Coroutine[Any, Any, T]],
) -> Callable[P, Coroutine[Any, Any, T]]:
    """Make a coroutine function run in the process of the runtime."""
    name = function.__name__
    _functions[name] = function

    @wraps(function)
    async def run(*args: P.args, **kwargs: P.kwargs) -> T:
        forwarder = FORWARDER.get()
        if forwarder is None:
            return await function(*args, **kwargs)
        return await forwarder.call_async(name, args, kwargs)  # type: ignore[no-any-return]

    return run


async def run_forwarded(name: str, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:
    """Run an SDK function for a worker process, as a part of the current call.

    Raises:
        AttributeError: There is no such function.
    """
    function = _functions.get(name)
    if function is None:
        raise AttributeError(f"The SDK has no function {name!r}.")
    if inspect.iscoroutinefunction(function):
        return await function(*args, **kwargs)
    return await current_call().runtime.threads.run(partial(function, *args, **kwargs))
