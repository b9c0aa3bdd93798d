"""Fixtures of the contract suites."""

import pytest


class Clock:
    """A clock that a test sets."""

    def __init__(self) -> None:
        self.time = 1_000.0

    def __call__(self) -> float:
        return self.time


@pytest.fixture
def clock() -> Clock:
    """Return the clock of a store."""
    return Clock()
