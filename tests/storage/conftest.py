"""Fixtures of the contract suites and of several clusters."""

from collections.abc import Iterator

import pytest

from onetool.storage.postgres.clusters import HOME
from support.two_clusters import WEST, TwoClusters, two_databases


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


@pytest.fixture(scope="module")
def urls() -> Iterator[dict[str, str]]:
    """Return the URLs of the clusters of an installation."""
    with two_databases() as urls:
        yield urls


@pytest.fixture
def two(urls: dict[str, str]) -> Iterator[TwoClusters]:
    """Return these clusters, as one process sees them."""
    two = TwoClusters(urls[HOME], urls[WEST])
    yield two
    two.close()
