"""Other packs as objects: `get_pack("llm").transform(input=..., prompt=...)`."""

from collections.abc import Callable
from typing import Any

from onetool.runtime import Scope, current

from .calls import call_and_wait, wait_for


class Pack:
    """A pack whose tools are its methods; usable from any thread once it has been got."""

    def __init__(self, name: str, scope: Scope) -> None:
        self._name, self._scope = name, scope

    def __getattr__(self, function: str) -> Callable[..., Any]:
        if function.startswith("__"):
            raise AttributeError(function)

        def call(**kwargs: Any) -> Any:
            name = f"{self._name}.{function}"
            return call_and_wait(self._scope, name, kwargs, name)

        return call

    def __repr__(self) -> str:
        return f"<pack {self._name}>"


def get_pack(name: str) -> Pack | None:
    """Return the pack of this name, its tools as methods; None where there is none."""
    scope = current()
    has_pack = scope.runtime.catalog.has_pack(name)
    return Pack(name, scope) if wait_for(scope, has_pack, f"get_pack({name!r})") else None
