"""Output checks: JSON serialization, size limit, secret redaction."""

from collections.abc import Sequence
from typing import Any, NamedTuple

from onetool.domain.content.content import Content
from onetool.domain.content.media import Media, find_media
from onetool.domain.errors import ExecutionError, Reason
from onetool.domain.secrets.redaction import Redactor
from onetool.domain.text.json_text import TooLarge, check_size, encode, encode_plain, is_small, jsonable
from onetool.threads import Threads

from .dispatch import describe


class CheckedOutput(NamedTuple):
    """A value with secrets masked, its size in bytes, and the media in it."""

    value: Any
    size: int
    media: Sequence[Media] = ()


class OutputGuard:
    """Checks the output of tools. Large outputs are checked on a thread, because that takes time."""

    def __init__(self, max_bytes: int, threads: Threads) -> None:
        self._max_bytes, self._threads = max_bytes, threads

    async def check(self, name: str, output: Any, redactor: Redactor) -> CheckedOutput:
        """Return the output of a tool with secrets masked.

        Raises:
            ExecutionError: The output is too large or cannot be serialized.
        """
        if is_small(output):
            return self._check(name, output, redactor)
        return await self._threads.run(self._check, name, output, redactor)

    async def check_content(self, name: str, content: Content, redactor: Redactor) -> tuple[Content, int]:
        """Return the content of a result with secrets masked in all but its media, and its size in bytes.

        Raises:
            ExecutionError: The content is too large.
        """
        if is_small(content.without_base64()):
            return self._check_content(name, content, redactor)
        return await self._threads.run(self._check_content, name, content, redactor)

    def _check_content(self, name: str, content: Content, redactor: Redactor) -> tuple[Content, int]:
        fields, media_size = content.without_base64(), sum(media.size for media in content.media)
        checked = self._check(name, fields, redactor, media_size)
        return (content if checked.value is fields else content.convert(redactor.mask)), checked.size

    def _check(self, name: str, output: Any, redactor: Redactor, media_size: int = 0) -> CheckedOutput:
        try:
            checked = self._mask_and_measure(output, redactor, media_size)
        except TooLarge as error:
            raise ExecutionError(Reason.TOO_LARGE_OUT, f"{name} returned a value {error}.") from None
        except BaseException as error:  # noqa: BLE001 - converting a foreign object may raise anything
            message = f"{name} returned a value that cannot be serialized as JSON: {describe(error)}"
            raise ExecutionError(Reason.BAD_OUTPUT, message) from None
        if checked.size > self._max_bytes:
            message = f"{name} returned {checked.size} bytes, over output.max_bytes ({self._max_bytes})."
            raise ExecutionError(Reason.TOO_LARGE_OUT, message)
        return checked

    def _mask_and_measure(self, output: Any, redactor: Redactor, media_size: int) -> CheckedOutput:
        if not isinstance(output, str | int | float | None):
            check_size(output, self._max_bytes * 2)
        text, media = encode_plain(output), list[Media]()
        if text is None:
            text, media = encode(output), find_media(output)
        if redactor.contains_secret(text.decode()):
            output = redactor.mask(jsonable(output, keep=Media))
        return CheckedOutput(output, len(text) + media_size + sum(item.size for item in media), media)
