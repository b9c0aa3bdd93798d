"""Packs as objects: `get_pack("llm").transform(input=..., prompt=...)`."""

from collections.abc import Callable
from typing import Any

from onetool.domain.calls.forwarding import FORWARDER, SdkForwarder
from onetool.domain.errors import ToolNotFound
from onetool.runtime.active_call import ActiveCall, current_call

from .calls import call_and_wait, wait_for
from .discovery import list_tools
from .forwarding import refuse_on_event_loop, waits_in_runtime


class PackProxy:
    """A pack whose tools are methods. Thread-safe."""

    def __init__(self, name: str, active: ActiveCall) -> None:
        self._name, self._active = name, active

    def __getattr__(self, function: str) -> Callable[..., Any]:
        if function.startswith("__"):
            raise AttributeError(function)
        name = f"{self._name}.{function}"
        refuse_on_event_loop(name, f"await call_tool_async({name!r}, ...)")
        catalog, caller = self._active.runtime.state.catalog, self._active.invocation.nested_caller()
        try:
            wait_for(self._active, catalog.resolve(name, caller), name)
        except ToolNotFound as error:
            raise AttributeError(str(error)) from error

        def call(**kwargs: Any) -> Any:
            return call_and_wait(self._active, name, kwargs, name)

        return call

    def __dir__(self) -> list[str]:
        return [spec.qualified_name.partition(".")[2] for spec in list_tools(f"{self._name}.")]

    def __repr__(self) -> str:
        return f"<pack {self._name}>"


class ForwardedPack(PackProxy):
    """A pack whose tools are methods, for a pack in a worker process. Thread-safe."""

    def __init__(self, name: str, forwarder: SdkForwarder) -> None:
        self._name, self._forwarder = name, forwarder

    def __getattr__(self, function: str) -> Callable[..., Any]:
        if function.startswith("__"):
            raise AttributeError(function)
        name = f"{self._name}.{function}"
        refuse_on_event_loop(name, f"await call_tool_async({name!r}, ...)")
        self._forwarder.call("check_function", (self._name, function), {})

        def call(**kwargs: Any) -> Any:
            refuse_on_event_loop(name, f"await call_tool_async({name!r}, ...)")
            return self._forwarder.call("call_tool", (name,), kwargs)

        return call

    def __repr__(self) -> str:
        return f"<pack {self._name}>"


def get_pack(name: str) -> PackProxy | None:
    """Return the pack with this name, or None if there is none. Its tools are methods.

    Use it in functions that are not async; in async functions, use `await call_tool_async(...)`.
    """
    refuse_on_event_loop(f"get_pack({name!r})", f"await call_tool_async('{name}.FUNCTION', ...)")
    if not has_pack(name):
        return None
    forwarder = FORWARDER.get()
    return PackProxy(name, current_call()) if forwarder is None else ForwardedPack(name, forwarder)


@waits_in_runtime
def has_pack(name: str) -> bool:
    """Return whether there is a pack with this name."""
    active = current_call()
    return wait_for(active, active.runtime.state.catalog.has_pack(name), f"get_pack({name!r})")


@waits_in_runtime
def check_function(pack: str, function: str) -> None:
    """Check that the caller may call a function of a pack.

    Raises:
        AttributeError: There is none.
    """
    getattr(PackProxy(pack, current_call()), function)
