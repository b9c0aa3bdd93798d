"""Changes of files that are interrupted, as if the process were killed between two of them."""

from collections.abc import Callable
from typing import Any


class Interruption:
    """Raises KeyboardInterrupt before the change with this number."""

    def __init__(self, step: int) -> None:
        self._remaining = step

    def before(self, change: Callable[..., Any]) -> Callable[..., Any]:
        """Return a function that makes the change, or interrupts."""

        def run(*args: Any, **kwargs: Any) -> Any:
            if self._remaining == 0:
                raise KeyboardInterrupt
            self._remaining -= 1
            return change(*args, **kwargs)

        return run
