"""The `@tool` decorator."""

from collections.abc import Callable
from typing import Any, TypeVar, overload

from onetool.domain.tools.tool import TOOL_OPTIONS, ToolOptions

F = TypeVar("F", bound=Callable[..., Any])


@overload
def tool(function: F, /) -> F: ...
@overload
def tool(
    *,
    timeout: float | None = None,
    cacheable: bool = False,
    read_only: bool = True,
    parallel: bool = False,
    tags: tuple[str, ...] | list[str] = (),
    max_concurrent: int | None = None,
) -> Callable[[F], F]: ...


def tool(function: F | None = None, /, **options: Any) -> F | Callable[[F], F]:
    """Set options of a tool. Public functions without this decorator are tools too.

    timeout: seconds until a call times out. cacheable: reuse results for equal arguments within a session.
    read_only: False if a call has side effects; it may then require approval.
    parallel: safe to run concurrently with other calls. max_concurrent: limit of concurrent calls.
    """
    tool_options = ToolOptions(**{**options, "tags": tuple(options.get("tags", ()))})

    def decorate(function: F) -> F:
        setattr(function, TOOL_OPTIONS, tool_options)
        return function

    return decorate(function) if function is not None else decorate
