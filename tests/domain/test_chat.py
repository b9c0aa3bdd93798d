"""What is said to chat models and what they say."""

import pytest

from onetool.domain.chat import FAILURES, ChatFailed, Message, Reply, TokenCount, ToolCallRequest
from onetool.domain.errors import OneToolError


def test_a_reply_becomes_an_entry_of_the_conversation():
    """With its calls and what the provider wants back with them."""
    call = ToolCallRequest(id="a", name="time.now", seal="x")
    reply = Reply(text="One moment.", calls=(call,), stop="calls")
    assert reply.message() == Message(role="assistant", text="One moment.", calls=(call,))


def test_a_failure_says_its_kind():
    """And how long to wait, where that is known."""
    failed = ChatFailed("rate_limited", "slow down", retry_after=2.5)
    assert (failed.kind, failed.retry_after, str(failed)) == ("rate_limited", 2.5, "slow down")
    assert ChatFailed("auth", "x").retry_after is None
    assert failed.kind in FAILURES
    with pytest.raises(OneToolError):
        raise failed


def test_costs_add_up():
    """What was read with what was read, what was written with what was written."""
    assert TokenCount(input=1, output=2).plus(TokenCount(input=3)) == TokenCount(input=4, output=2)
