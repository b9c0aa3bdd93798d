"""Delays between the attempts of a request."""

from email.utils import formatdate

import pytest

from onetool.network.backoff import Backoff, retry_after

NOW = 1_000_000.0


def test_delays_double_with_jitter_and_are_at_least_the_requested_one():
    assert [Backoff(base_s=1, random=lambda: 0.0).delay(attempt) for attempt in (1, 2, 3)] == [1.0, 2.0, 4.0]
    backoff = Backoff(base_s=1, random=lambda: 1.0)
    assert [backoff.delay(attempt) for attempt in (1, 2, 3)] == [1.5, 3.0, 6.0]
    assert (backoff.delay(1, 7.0), backoff.delay(3, 2.0)) == (7.0, 6.0)


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({}, None),
        ({"retry-after": " 7 "}, 7.0),
        ({"retry-after": "1.5"}, 1.5),
        ({"retry-after": "17s"}, 17.0),
        ({"retry-after-ms": "250", "retry-after": "9"}, 0.25),
        ({"retry-after": formatdate(NOW + 30, usegmt=True)}, 30.0),
        ({"retry-after": "Mon, 12 Jan 1970 13:47:10 -0000"}, 30.0),
        ({"retry-after": formatdate(5)}, 0.0),
    ],
)
def test_retry_after_is_a_number_or_a_date(headers, seconds):
    assert retry_after(headers, NOW) == seconds


@pytest.mark.parametrize(
    "text",
    [
        "",
        "soon",
        "-5",
        "٣",
        "1_0",
        "nan",
        "inf",
        "1e9",
        "\0",
        "9" * 40,
        "Mon, 99 Foo",
        "99999999999 Jan 10:00 Mon",
    ],
)
def test_invalid_retry_after_is_ignored(text):
    assert retry_after({"retry-after": text}, NOW) is None
