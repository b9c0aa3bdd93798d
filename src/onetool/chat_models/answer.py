"""Puts a reply together from the pieces in which it comes."""

from collections.abc import Callable, Hashable
from dataclasses import dataclass

from onetool.domain.chat import ChatFailed, Reply, Stop, TokenCount, ToolCallRequest

from .endpoint import Endpoint
from .wire import Wire, is_complete

LONGEST = 8 * 2**20
"""Characters of text and arguments; no model says more in one turn."""


@dataclass(slots=True)
class _Call:
    id: str = ""
    name: str = ""
    arguments: str = ""
    seal: str = ""


class Answer:
    """One attempt at an answer."""

    def __init__(
        self, endpoint: Endpoint, wire: Wire, on_text: Callable[[str], None], new_id: Callable[[], str]
    ) -> None:
        self._endpoint, self._wire, self._on_text, self._new_id = endpoint, wire, on_text, new_id
        self._text: list[str] = []
        self._calls: list[_Call] = []
        self._open: dict[Hashable, _Call] = {}
        self._room = LONGEST
        self.begun = False
        """Whether anything has come; what has begun is not asked for again."""
        self.stop: Stop | None = None
        """None until the provider said why it stopped."""
        self.tokens: TokenCount | None = None

    def say(self, text: str) -> None:
        """Take a piece of text, and hand it on."""
        if text:
            self._take(text)
            self._text.append(text)
            self._on_text(text)

    def call(
        self, key: Hashable, *, id: str = "", name: str = "", arguments: str = "", seal: str = ""
    ) -> None:
        """Take a piece of the call that goes by this key; another id is another call."""
        self._take(arguments)
        known = self._open.get(key)
        if known is None or (id and known.id and known.id != id):
            known = self._open[key] = _Call()
            self._calls.append(known)
        known.id, known.name, known.seal = known.id or id, known.name or name, known.seal or seal
        known.arguments += arguments

    def reply(self) -> Reply:
        """Return all that was said.

        Raises ChatFailed when the answer never came to its end.
        """
        if self.stop is None and self._room == LONGEST:
            raise self._endpoint.rubbish("an answer that says nothing")
        if self.stop is None:
            raise self._endpoint.stopped("unreachable", "it ended without an end")
        calls = tuple(self._requests()) if self.stop != "refused" else ()
        return Reply(
            text="".join(self._text), calls=calls, tokens=self.tokens, stop=_stop(self.stop, bool(calls))
        )

    def _requests(self) -> list[ToolCallRequest]:
        requests: dict[str, ToolCallRequest] = {}
        for call in self._calls:
            if self.stop == "length" and not is_complete(call.arguments):
                continue
            if not call.name:
                raise self._endpoint.rubbish("a tool call without a name")
            id = call.id if call.id and call.id not in requests else self._new_id()
            requests[id] = ToolCallRequest(
                id=id,
                name=self._wire.back(call.name),
                arguments_text=call.arguments.strip() or "{}",
                seal=call.seal,
            )
        return list(requests.values())

    def _take(self, text: str) -> None:
        self._room -= len(text)
        if self._room < 0:
            raise ChatFailed("rubbish", f"The answer is longer than {LONGEST} characters.")


def _stop(said: Stop, has_calls: bool) -> Stop:
    """Servers say `stop` with calls, and now and then `tool_calls` without any."""
    if said in ("end", "calls"):
        return "calls" if has_calls else "end"
    return said
