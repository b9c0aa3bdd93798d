"""Say more about a function than its signature does."""

from collections.abc import Callable
from typing import Any, TypeVar, overload

from onetool.domain.tool import DECLARATION, Declaration

F = TypeVar("F", bound=Callable[..., Any])


@overload
def tool(function: F, /) -> F: ...
@overload
def tool(
    *,
    timeout: float | None = None,
    cacheable: bool = False,
    changes: bool = False,
    parallel: bool = False,
    tags: tuple[str, ...] | list[str] = (),
    max_concurrent: int | None = None,
) -> Callable[[F], F]: ...


def tool(function: F | None = None, /, **declared: Any) -> F | Callable[[F], F]:
    """Declare how a tool may be run; a public function without this is a tool as well.

    timeout: seconds it may take. cacheable: same arguments, same answer within a session.
    changes: it changes something and may need approval. parallel: safe to run beside other calls.
    max_concurrent: how many calls of it may run at once.
    """
    declaration = Declaration(**{**declared, "tags": tuple(declared.get("tags", ()))})

    def declare(function: F) -> F:
        setattr(function, DECLARATION, declaration)
        return function

    return declare(function) if function is not None else declare
