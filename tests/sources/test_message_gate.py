"""Limits of messages from servers: counted while they arrive, whatever the pieces."""

import json
import logging

import httpx2
import pytest
from hypothesis import given
from hypothesis import strategies as st

from onetool.sources.mcp_servers.transport.limited_streams import LimitedEvents
from onetool.sources.mcp_servers.transport.message_gate import (
    MAX_FACTOR,
    MAX_NESTING,
    MessageGate,
    MessageLimits,
    MessageTooLong,
)
from onetool.sources.mcp_servers.transport.notification_limit import NotificationLimit
from onetool.sources.mcp_servers.transport.rejected_message import MESSAGE_TOO_LARGE, TOO_LARGE_METHOD
from support.hypothesis_schemas import json_values


def limits_of(max_bytes: int, max_values: int) -> MessageLimits:
    return MessageLimits(max_bytes, max_values, NotificationLimit(logging.getLogger("test")))


def through_gate(message: bytes, *, size: int = 7, max_bytes: int = 10_000, max_values: int = 100) -> bytes:
    gate = MessageGate(limits_of(max_bytes, max_values))
    for start in range(0, len(message), size):
        gate.feed(message[start : start + size])
    return gate.finish()


def response(result: object, **fields: object) -> bytes:
    return json.dumps({"jsonrpc": "2.0", "id": 5, "result": result} | fields).encode()


def count_values(value: object) -> int:
    """Return the number of values in a JSON value."""
    children = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return 1 + sum(map(count_values, children))


@given(value=json_values(), size=st.integers(1, 50), ascii_only=st.booleans())
def test_count_lies_between_the_values_and_twice_their_number(value, size, ascii_only):
    """So a message within the limit always passes, and one of twice the limit never does."""
    message = json.dumps(value, ensure_ascii=ascii_only).encode("utf-8", "surrogatepass")
    values = count_values(value)
    assert through_gate(message, size=size, max_bytes=10**6, max_values=2 * values) == message
    if values > 2:
        rejected = through_gate(message, size=size, max_bytes=10**6, max_values=(values - 1) // 2)
        assert rejected != message


@pytest.mark.parametrize("size", [1, 2, 3, 1000])
@pytest.mark.parametrize("text", ["a,b" * 500, "[{," * 500, '\\"[' * 500, "\\" * 999, '"' * 500])
def test_separators_in_strings_are_not_counted(text, size):
    message = response([text, text])
    assert through_gate(message, size=size, max_bytes=10**6) == message


@pytest.mark.guards("server-messages")
@pytest.mark.parametrize("id_", [5, "five"])
@pytest.mark.parametrize("id_first", [True, False])
def test_large_message_becomes_an_error_response_with_its_id(id_, id_first):
    """An id inside of the result is not taken for it."""
    result = {"id": 77, "values": [1] * 5_000, "other": {"id": 78}}
    fields = {"jsonrpc": "2.0", "id": id_, "result": result}
    message = fields if id_first else {"result": result, "jsonrpc": "2.0", "id": id_}
    error = json.loads(through_gate(json.dumps(message).encode(), max_bytes=10**6))
    assert (error["id"], error["error"]["code"]) == (id_, MESSAGE_TOO_LARGE)
    assert "more than 100 values. Raise max_message_values" in error["error"]["message"]
    error = json.loads(through_gate(json.dumps(message).encode(), max_values=10**6))
    assert "more than 10,000 bytes. Raise max_message_bytes" in error["error"]["message"]


def test_message_after_a_large_one_passes():
    gate = MessageGate(limits_of(1_000, 10))
    gate.feed(response([1] * 100))
    assert b"error" in gate.finish()
    gate.feed(b'"open')
    assert gate.finish() == b'"open'
    gate.feed(response([1]))
    assert gate.finish() == response([1])


@pytest.mark.parametrize("id_", [None, 7])
@pytest.mark.parametrize("method_first", [True, False])
def test_large_request_or_notification_of_the_server_loses_its_parameters(id_, method_first):
    """It is no response, so no call of the client fails. A request keeps its id, to be answered."""
    head, call = {} if id_ is None else {"id": id_}, {"method": "x", "params": [1] * 1_000}
    message = call | {"jsonrpc": "2.0"} | head if method_first else {"jsonrpc": "2.0"} | head | call
    replaced = json.loads(through_gate(json.dumps(message).encode()))
    assert replaced == {"jsonrpc": "2.0", "method": TOO_LARGE_METHOD} | head


@pytest.mark.spec("MCP-65")
@pytest.mark.parametrize("size", [1, 7, 10_000])
def test_nesting_is_limited(size):
    """Levels are counted, not brackets, and brackets in strings do not count."""
    levels = MAX_NESTING - 1  # the message itself is one
    for value, is_rejected in ((levels, False), (levels + 1, True)):
        message = (
            response("[{" * 300)
            .replace(b'"[', b"[" * value + b'"[')
            .replace(b'{"}', b'{"' + b"]" * value + b"}")
        )
        assert json.loads(message)["id"] == 5
        received = through_gate(message, size=size, max_values=1_000)
        assert (received != message) == is_rejected
    error = json.loads(received)["error"]
    assert error["message"] == f"The server sent a message that is nested deeper than {MAX_NESTING} levels."
    flat = response([[]] * 400)
    assert through_gate(flat, size=size, max_values=1_000) == flat


def test_large_message_without_an_id_is_replaced_as_well():
    assert json.loads(through_gate(json.dumps([1] * 1_000).encode()))["id"] is None


@pytest.mark.guards("server-messages")
def test_message_that_never_ends_is_an_error():
    gate = MessageGate(limits_of(1_000, 10))
    for _ in range(MAX_FACTOR):
        gate.feed(b"x" * 1_000)
    with pytest.raises(MessageTooLong, match="a message of more than 16000 bytes"):
        gate.feed(b"x")


class Pieces(httpx2.AsyncByteStream):
    """A body that arrives in pieces."""

    def __init__(self, content: bytes, size: int) -> None:
        self._pieces = [content[start : start + size] for start in range(0, len(content), size)]

    async def __aiter__(self):
        for piece in self._pieces:
            yield piece


@pytest.mark.parametrize("size", [1, 3, 1_000])
@pytest.mark.parametrize(
    ("sent", "received"),
    [
        (b'event: message\ndata: {"a":1}\n\n', b'event: message\ndata: {"a":1}\n\n'),
        (b'data: {"a":\r\ndata: 1}\r\n\r\n', b'data: {"a":\ndata: 1}\n\n'),
        (b"id: 7\ndata:\n\n", b"id: 7\ndata:\n\n"),
        (b": heartbeat\n\n", b": heartbeat\n\n"),
        (b"\n\nretry: 5\n\ndata: x\n\n", b"retry: 5\n\ndata: x\n\n"),
    ],
)
async def test_events_within_the_limits_are_unchanged(sent, received, size):
    events = LimitedEvents(Pieces(sent, size), limits_of(1_000, 100))
    assert b"".join([event async for event in events]) == received


@pytest.mark.parametrize("size", [1, 1_000])
async def test_only_the_event_above_the_limits_is_replaced(size):
    small, large = response([1]), response([1] * 500)
    sent = b"".join(b"data: " + message + b"\n\n" for message in (small, large, small))
    events = [event async for event in LimitedEvents(Pieces(sent, size), limits_of(10_000, 100))]
    first, error, last = (json.loads(event.removeprefix(b"data:")) for event in events)
    assert first == last == json.loads(small)
    assert (error["id"], error["error"]["code"]) == (5, MESSAGE_TOO_LARGE)


async def test_endless_field_of_an_event_is_an_error():
    events = LimitedEvents(Pieces(b"x" * 100_000, 1_000), limits_of(10_000, 100))
    with pytest.raises(httpx2.StreamError, match="fields of more than 65536 bytes"):
        await anext(aiter(events))
