"""What leaves the house: written as JSON, not too large, without secrets."""

from typing import Any

from onetool.domain.errors import ExecutionError, Reason
from onetool.domain.json_text import TooLarge, check_size, encode, is_small, jsonable
from onetool.domain.redaction import Redactor
from onetool.threads import Threads

from .dispatch import describe


class Leaving:
    """Looks at results; at large ones on a thread, for that takes its time."""

    def __init__(self, limit: int, redactor: Redactor, threads: Threads) -> None:
        self._limit, self._redactor, self._threads = limit, redactor, threads

    async def check(self, name: str, output: Any) -> tuple[Any, int]:
        """Return what a tool has returned, secrets masked, and its size.

        Raises ExecutionError.
        """
        if is_small(output):
            return self._checked(name, output)
        return await self._threads.run(self._checked, name, output)

    def _checked(self, name: str, output: Any) -> tuple[Any, int]:
        try:
            output, size = self._written(output)
        except TooLarge as error:
            raise ExecutionError(Reason.TOO_LARGE_OUT, f"{name} returned something {error}.") from None
        except BaseException as error:  # noqa: BLE001 - the text of a foreign object may raise anything
            message = f"{name} returned something that cannot be written as JSON: {describe(error)}"
            raise ExecutionError(Reason.BAD_OUTPUT, message) from None
        if size > self._limit:
            message = f"{name} returned {size} bytes, over output.max_bytes ({self._limit})."
            raise ExecutionError(Reason.TOO_LARGE_OUT, message)
        return output, size

    def _written(self, output: Any) -> tuple[Any, int]:
        if not isinstance(output, str | int | float | None):
            check_size(output, self._limit * 2)
        text = encode(output)
        if self._redactor and self._redactor.finds(text.decode()):
            output = self._redactor.clean(jsonable(output))
        return output, len(text)
