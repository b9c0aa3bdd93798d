"""Messages to and from chat models."""

import pytest

from onetool.domain.chat.messages import (
    FAILURES,
    ChatModelError,
    Message,
    ModelResponse,
    TokenCount,
    ToolCallRequest,
)
from onetool.domain.errors import OneToolError


def test_response_becomes_an_assistant_message_with_its_calls():
    call = ToolCallRequest(id="a", name="time.now", signature="x")
    response = ModelResponse(text="One moment.", calls=(call,), stop="calls")
    assert response.message() == Message(role="assistant", text="One moment.", calls=(call,))


def test_error_has_a_kind_and_an_optional_delay():
    error = ChatModelError("rate_limited", "slow down", retry_after=2.5)
    assert (error.kind, error.retry_after, str(error)) == ("rate_limited", 2.5, "slow down")
    assert ChatModelError("auth", "x").retry_after is None
    assert error.kind in FAILURES
    with pytest.raises(OneToolError):
        raise error


def test_token_counts_add_up_by_direction():
    assert TokenCount(input=1, output=2).plus(TokenCount(input=3)) == TokenCount(input=4, output=2)
