"""Options and fixtures that every test may use."""

from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import settings

from homes import Home
from spec_rows import SpecRows

settings.register_profile("check", max_examples=60, deadline=None)
settings.register_profile("torture", max_examples=10_000, deadline=None)


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--spec", action="store_true", help="print which rows of the spec have a passing test")
    parser.addoption("--torture", action="store_true", help="crash, fuzz and fault tests at full size")


def pytest_configure(config: pytest.Config) -> None:
    config.pluginmanager.register(SpecRows(config), "spec_rows")
    settings.load_profile("torture" if config.getoption("--torture") else "check")


@pytest.fixture(scope="session")
def size(request: pytest.FixtureRequest) -> Callable[[int, int], int]:
    """Pick the small number in `just check`, the large one in `just torture`."""
    return lambda small, large: large if request.config.getoption("--torture") else small


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Home:
    """A fresh user: empty config, data and state directories, standing in an empty working directory."""
    found = Home(tmp_path / "home", tmp_path / "work")
    found.cwd.mkdir()
    found.config.mkdir(parents=True)
    for name, value in found.env.items():
        monkeypatch.setenv(name, value)
    monkeypatch.chdir(found.cwd)
    return found
