"""Warnings of pools of connections: an outage does not fill the log."""

import logging

from onetool.storage.postgres.pool_warnings import REPEAT_S, RepeatedWarnings

REFUSED = "error connecting in %r: %s"


def test_a_warning_about_a_pool_is_written_once_a_minute():
    now = 0.0
    filter = RepeatedWarnings(clock=lambda: now)

    def is_written(message, *args):
        return filter.filter(logging.LogRecord("psycopg.pool", logging.WARNING, "", 0, message, args, None))

    assert is_written(REFUSED, "home", "refused")
    assert not is_written(REFUSED, "home", "refused again")
    assert is_written(REFUSED, "west", "refused")
    assert is_written("discarding broken connection: %s", object())
    assert not is_written("discarding broken connection: %s", object())
    now = REPEAT_S
    assert is_written(REFUSED, "home", "refused")
