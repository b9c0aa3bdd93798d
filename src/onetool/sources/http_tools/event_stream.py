"""Events that an upstream sends while it answers: `text/event-stream`."""

import codecs
import re
from collections.abc import Iterator
from contextlib import suppress
from typing import Any, NamedTuple

import orjson

LINE_END = re.compile("\r\n|\n|\r")


class ServerEvent(NamedTuple):
    """One event. Empty texts were not sent."""

    data: str
    kind: str = ""
    id: str = ""

    def to_json(self) -> dict[str, Any]:
        """Return the fields that were sent. Data that is a JSON object or list is parsed."""
        data: Any = self.data
        if data.lstrip()[:1] in ("{", "["):
            with suppress(orjson.JSONDecodeError):
                data = orjson.loads(data)
        named = {"event": self.kind, "data": data, "id": self.id}
        return {name: value for name, value in named.items() if name == "data" or value}


class EventReader:
    """Reads events from the parts of a stream. What follows the last empty line is no event yet."""

    def __init__(self) -> None:
        self._decoder = codecs.getincrementaldecoder("utf-8-sig")("replace")
        self._rest, self._fields = "", dict[str, list[str]]()

    def feed(self, part: bytes) -> Iterator[ServerEvent]:
        """Yield the events that this part completes."""
        text = self._rest + self._decoder.decode(part)
        end = len(text) - text.endswith("\r")  # the other half of a line end may follow
        *lines, rest = LINE_END.split(text[:end])
        self._rest = rest + text[end:]
        for line in lines:
            if line:
                name, _, value = line.partition(":")
                self._fields.setdefault(name, []).append(value.removeprefix(" "))
                continue
            fields, self._fields = self._fields, {}
            if "data" in fields:  # otherwise a comment
                kind, id = (fields.get(name, [""])[-1] for name in ("event", "id"))
                yield ServerEvent("\n".join(fields["data"]), kind, id)


def events_of(content: bytes) -> list[ServerEvent]:
    """Return the events of a complete stream. The last one needs no empty line after it."""
    return list(EventReader().feed(content + b"\n\n"))
