"""Packs as objects: `get_pack("llm").transform(input=..., prompt=...)`."""

from collections.abc import Callable
from typing import Any

from onetool.domain.errors import ToolNotFound
from onetool.runtime.active_call import ActiveCall, current_call

from .calls import call_and_wait, wait_for


class PackProxy:
    """A pack whose tools are methods. Thread-safe."""

    def __init__(self, name: str, active: ActiveCall) -> None:
        self._name, self._active = name, active

    def __getattr__(self, function: str) -> Callable[..., Any]:
        if function.startswith("__"):
            raise AttributeError(function)
        name = f"{self._name}.{function}"
        catalog, caller = self._active.runtime.state.catalog, self._active.invocation.nested_caller()
        try:
            wait_for(self._active, catalog.resolve(name, caller), name)
        except ToolNotFound as error:
            raise AttributeError(str(error)) from error

        def call(**kwargs: Any) -> Any:
            return call_and_wait(self._active, name, kwargs, name)

        return call

    def __repr__(self) -> str:
        return f"<pack {self._name}>"


def get_pack(name: str) -> PackProxy | None:
    """Return the pack with this name, or None if there is none. Its tools are methods."""
    active = current_call()
    has_pack = active.runtime.state.catalog.has_pack(name)
    return PackProxy(name, active) if wait_for(active, has_pack, f"get_pack({name!r})") else None
