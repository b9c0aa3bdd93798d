"""Redaction of secrets that are split over the pieces of a stream."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from onetool.domain.secrets.credential_set import CredentialSet
from onetool.domain.secrets.redaction import MASK, Redactor
from onetool.domain.secrets.streams import MessageRedactor, StreamRedactor

SECRET = "hunter2-of-the-house"
words = st.text("abc", min_size=4, max_size=8)


def show(redactor: Redactor, pieces: list[str]) -> list[str]:
    """Return what is shown after each piece, and at the end."""
    stream = StreamRedactor(redactor)
    return [*map(stream.feed, pieces), stream.flush()]


@pytest.mark.guards("record-redaction")
@pytest.mark.parametrize("position", range(1, len(SECRET)))
def test_secret_is_redacted_wherever_it_is_split(position):
    pieces = [f"It is {SECRET[:position]}", f"{SECRET[position:]}, so there."]
    assert "".join(show(Redactor([SECRET]), pieces)) == f"It is {MASK}, so there."
    assert "".join(show(Redactor([SECRET]), list("".join(pieces)))) == f"It is {MASK}, so there."


def test_only_what_could_begin_a_secret_is_withheld():
    """Ordinary text is shown at once; what was withheld is shown as soon as it is clear what it is."""
    pieces = ["Hello ", "world h", "unt", "ing, hunter", "2-of-the-house"]
    assert show(Redactor([SECRET]), pieces) == ["Hello ", "world ", "", "hunting, ", MASK, ""]


def test_text_that_ends_with_the_beginning_of_a_secret_is_shown_completely():
    assert show(Redactor([SECRET]), ["the hunt"]) == ["the ", "hunt"]


def test_complete_secret_is_withheld_while_a_longer_one_is_possible():
    redactor = Redactor(["abcd", "abcdefgh"])
    assert show(redactor, ["-abcd", "efgh-"]) == ["-", f"{MASK}-", ""]
    assert show(redactor, ["-abcd", "ef-"]) == ["-", f"{MASK}ef-", ""]


def test_secret_that_overlaps_an_unfinished_one_is_withheld():
    redactor = Redactor(["abcd"]).joined(Redactor(["cdefgh"]))
    assert show(redactor, ["-abcd", "efgh-"]) == ["-", f"{MASK}-", ""]
    assert show(redactor, ["-abcd", "-"]) == ["-", f"{MASK}-", ""]


def test_stream_without_secrets_is_unchanged():
    assert show(Redactor(), ["a", "", "b"]) == ["a", "", "b", ""]


@given(st.lists(words, max_size=3), st.lists(words, max_size=3), st.lists(st.text("abcd", max_size=9)))
def test_redacted_pieces_are_the_redacted_text(first, second, pieces):
    redactor = Redactor(first).joined(Redactor(second))
    assert "".join(show(redactor, pieces)) == redactor.redact("".join(pieces))


@pytest.mark.parametrize("size", [1, 2, 3, 5, 7, 19])
def test_messages_together_reveal_less_than_the_shortest_secret(size):
    """Messages are not delayed, so up to three characters at its beginning may be shown."""
    credentials = CredentialSet()
    credentials.add(SECRET)
    messages = MessageRedactor(credentials)
    text = f"{SECRET} and {SECRET}."
    shown = [messages.redact(text[start : start + size]) for start in range(0, len(text), size)]
    visible = "".join(shown).replace(MASK, "")
    assert re.fullmatch(r"(hu?n?)? and (hu?n?)?\.", visible)


def test_messages_without_a_secret_are_unchanged():
    credentials = CredentialSet()
    credentials.add(SECRET)
    messages = MessageRedactor(credentials)
    texts = ["Looking for the h", "unters", "", "hun", "done"]
    assert [messages.redact(text) for text in texts] == texts


def test_secret_inside_one_message_is_redacted():
    credentials = CredentialSet()
    credentials.add(SECRET)
    assert MessageRedactor(credentials).redact(f"key {SECRET}!") == f"key {MASK}!"
