"""Assembly of a model response from streamed chunks."""

from collections.abc import Callable, Hashable
from dataclasses import dataclass

from onetool.domain.chat.messages import ChatModelError, ModelResponse, Stop, TokenCount, ToolCallRequest

from .endpoint import Endpoint
from .tool_names import ToolNameCodec, is_complete

MAX_LENGTH = 8 * 2**20
"""Maximum number of characters of text and arguments. No model writes more in one turn."""


@dataclass(slots=True)
class _PartialCall:
    id: str = ""
    name: str = ""
    arguments: str = ""
    signature: str = ""


class ResponseBuilder:
    """The response of one attempt."""

    def __init__(
        self,
        endpoint: Endpoint,
        codec: ToolNameCodec,
        on_text: Callable[[str], None],
        new_id: Callable[[], str],
    ) -> None:
        self._endpoint, self._codec, self._on_text, self._new_id = endpoint, codec, on_text, new_id
        self._text: list[str] = []
        self._calls: list[_PartialCall] = []
        self._open_calls: dict[Hashable, _PartialCall] = {}
        self._remaining = MAX_LENGTH
        self.has_started = False
        """Whether anything has arrived. A response that has started is not requested again."""
        self.stop: Stop | None = None
        """Why the response ended. None: not ended yet."""
        self.tokens: TokenCount | None = None

    def add_text(self, text: str) -> None:
        """Add text and pass it to the listener."""
        if text:
            self._charge(text)
            self._text.append(text)
            self._on_text(text)

    def add_call(
        self, key: Hashable, *, id: str = "", name: str = "", arguments: str = "", signature: str = ""
    ) -> None:
        """Add a part of the call with this key. A different id starts a new call."""
        self._charge(arguments)
        call = self._open_calls.get(key)
        if call is None or (id and call.id and call.id != id):
            call = self._open_calls[key] = _PartialCall()
            self._calls.append(call)
        call.id = call.id or id
        call.name = call.name or name
        call.signature = call.signature or signature
        call.arguments += arguments

    def build(self) -> ModelResponse:
        """Return the response.

        Raises:
            ChatModelError: The response is incomplete.
        """
        if self.stop is None and self._remaining == MAX_LENGTH:
            raise self._endpoint.malformed("an empty response")
        if self.stop is None:
            raise self._endpoint.interrupted("unreachable", "the stream ended early")
        calls = tuple(self._requests()) if self.stop != "refused" else ()
        return ModelResponse(
            text="".join(self._text), calls=calls, tokens=self.tokens, stop=_stop(self.stop, bool(calls))
        )

    def _requests(self) -> list[ToolCallRequest]:
        requests: dict[str, ToolCallRequest] = {}
        for call in self._calls:
            if self.stop == "length" and not is_complete(call.arguments):
                continue
            if not call.name:
                raise self._endpoint.malformed("a tool call without a name")
            id = call.id if call.id and call.id not in requests else self._new_id()
            requests[id] = ToolCallRequest(
                id=id,
                name=self._codec.decode(call.name),
                arguments_text=call.arguments.strip() or "{}",
                signature=call.signature,
            )
        return list(requests.values())

    def _charge(self, text: str) -> None:
        self._remaining -= len(text)
        if self._remaining < 0:
            raise ChatModelError("malformed", f"The response is longer than {MAX_LENGTH} characters.")


def _stop(reported: Stop, has_calls: bool) -> Stop:
    """Correct servers that report `stop` with calls, or `tool_calls` without any."""
    if reported in ("end", "calls"):
        return "calls" if has_calls else "end"
    return reported
