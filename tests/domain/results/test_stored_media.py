"""Which stored media are deleted when there are too many."""

from onetool.domain.results.stored_result import MAX_MEDIA_BYTES, MIN_MEDIA_AGE_S, oldest_media

NOW = MIN_MEDIA_AGE_S * 10


def test_the_oldest_media_are_deleted_until_the_others_fit():
    half = MAX_MEDIA_BYTES // 2
    stored = [(2.0, half, "b"), (1.0, half, "a"), (3.0, half, "c")]
    assert oldest_media(stored, NOW) == ["a"]
    assert oldest_media(stored[:2], NOW) == []


def test_media_that_never_fit_are_deleted():
    assert oldest_media([(1.0, MAX_MEDIA_BYTES + 1, "a")], NOW) == ["a"]


def test_young_media_stay():
    assert oldest_media([(NOW, MAX_MEDIA_BYTES + 1, "a")], NOW) == []
