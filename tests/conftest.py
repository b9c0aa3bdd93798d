"""Options and fixtures for all tests."""

import gc
import os
import random
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, settings

from development.spec_rows import SpecRows
from onetool.threads import Threads
from support import onetool_process
from support.pack_index import write_index
from support.user_home import Home

pytest_plugins = [
    "support.pgbouncer",
    "support.postgres",
    "support.hosted_process",
    "support.redis_server",
    "support.oidc_provider",
    "support.oauth_browser",
]

NO_CLOCK: dict[str, Any] = {"deadline": None, "suppress_health_check": [HealthCheck.too_slow]}
settings.register_profile("check", max_examples=25, **NO_CLOCK)
settings.register_profile("stress", max_examples=10_000, **NO_CLOCK)


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--spec", action="store_true", help="print which specification rows have a passing test")
    parser.addoption(
        "--second-cluster", action="store_true", help="place workspaces in another cluster than home"
    )
    parser.addoption(
        "--shuffle", type=int, metavar="SEED", help="run modules, and the tests of each, in a random order"
    )
    parser.addoption("--stress", action="store_true", help="run crash, fuzz and fault tests at full size")


def pytest_configure(config: pytest.Config) -> None:
    config.pluginmanager.register(SpecRows(config), "spec_rows")
    settings.load_profile("stress" if config.getoption("--stress") else "check")


def pytest_xdist_auto_num_workers() -> int:
    """Run one test more than there are processors: at any time, one of them waits for another process."""
    return (os.cpu_count() or 1) + 1


@pytest.hookimpl(trylast=True)
def pytest_sessionstart(session: pytest.Session) -> None:
    """Measure the coverage of forks that ask for it only; other processes would start at half the speed."""
    onetool_process.coverage_config = os.environ.pop("COVERAGE_PROCESS_CONFIG", "")


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Shuffle the tests if that is wanted, and skip those that need Linux on other systems.

    The tests of a module stay together, because they share its servers. pytest groups them by the
    parameters of these servers afterwards.
    """
    seed = config.getoption("--shuffle")
    if seed is not None:
        shuffle(items, random.Random(seed))
    if sys.platform != "linux":
        skip = pytest.mark.skip(reason="needs Linux")
        for item in items:
            if item.get_closest_marker("linux"):
                item.add_marker(skip)


def shuffle(items: list[pytest.Item], randomness: random.Random) -> None:
    """Order modules at random, and the tests of each module."""
    modules: dict[Path, list[pytest.Item]] = {}
    for item in items:
        modules.setdefault(item.path, []).append(item)
    groups = list(modules.values())
    randomness.shuffle(groups)
    for group in groups:
        randomness.shuffle(group)
    items[:] = [item for group in groups for item in group]


def pytest_collection_finish() -> None:
    """Keep the collected tests out of every later collection of garbage."""
    gc.collect()
    gc.freeze()


@pytest.fixture(scope="session")
def size(request: pytest.FixtureRequest) -> Callable[[Any, Any], Any]:
    """Return a function that selects its first argument by default and its second with `--stress`."""
    return lambda small, large: large if request.config.getoption("--stress") else small


@pytest.fixture
def threads() -> Iterator[Threads]:
    """Return threads for blocking calls."""
    threads = Threads()
    yield threads
    threads.close()


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Home:
    """Return a new user with empty directories, and change to an empty working directory."""
    user = Home(tmp_path / "home", tmp_path / "work")
    user.cwd.mkdir()
    user.config.mkdir(parents=True)
    user.state.mkdir(parents=True, mode=0o700)
    write_index(user.state)
    for name, value in user.env.items():
        monkeypatch.setenv(name, value)
    monkeypatch.chdir(user.cwd)
    return user
