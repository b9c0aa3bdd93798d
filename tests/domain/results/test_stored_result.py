"""Texts that are too long for a model."""

from onetool.domain.results.stored_result import cut_unstored


def test_text_that_cannot_be_stored_is_cut_between_characters_and_says_why():
    text = cut_unstored("ab€cd", 4, "No space left on device")
    assert text.startswith(
        "The first 4 of 7 bytes. The rest could not be stored and is lost: No space left on device."
    )
    assert text.endswith("\n\nab")
