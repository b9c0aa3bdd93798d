"""Output checks: JSON serialization, size limit, secret redaction."""

from typing import Any

from onetool.domain.errors import ExecutionError, Reason
from onetool.domain.secrets.redaction import Redactor
from onetool.domain.text.json_text import TooLarge, check_size, encode, is_small, jsonable
from onetool.threads import Threads

from .dispatch import describe


class OutputGuard:
    """Checks the output of tools. Large outputs are checked on a thread, because that takes time."""

    def __init__(self, max_bytes: int, threads: Threads) -> None:
        self._max_bytes, self._threads = max_bytes, threads

    async def check(self, name: str, output: Any, redactor: Redactor) -> tuple[Any, int]:
        """Return the output of a tool with secrets masked, and its size in bytes.

        Raises:
            ExecutionError: The output is too large or cannot be serialized.
        """
        if is_small(output):
            return self._check(name, output, redactor)
        return await self._threads.run(self._check, name, output, redactor)

    def _check(self, name: str, output: Any, redactor: Redactor) -> tuple[Any, int]:
        try:
            output, size = self._mask_and_measure(output, redactor)
        except TooLarge as error:
            raise ExecutionError(Reason.TOO_LARGE_OUT, f"{name} returned a value {error}.") from None
        except BaseException as error:  # noqa: BLE001 - converting a foreign object may raise anything
            message = f"{name} returned a value that cannot be serialized as JSON: {describe(error)}"
            raise ExecutionError(Reason.BAD_OUTPUT, message) from None
        if size > self._max_bytes:
            message = f"{name} returned {size} bytes, over output.max_bytes ({self._max_bytes})."
            raise ExecutionError(Reason.TOO_LARGE_OUT, message)
        return output, size

    def _mask_and_measure(self, output: Any, redactor: Redactor) -> tuple[Any, int]:
        if not isinstance(output, str | int | float | None):
            check_size(output, self._max_bytes * 2)
        text = encode(output)
        if redactor.contains_secret(text.decode()):
            output = redactor.mask(jsonable(output))
        return output, len(text)
