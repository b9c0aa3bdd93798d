"""Options and fixtures that every test may use."""

import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import settings

import commands
import onetool.packs
import onetool.starters
from homes import Home
from onetool.sources.python_packs.index import PackIndex
from onetool.sources.python_packs.python_packs import describe_shipped
from onetool.threads import Threads
from spec_rows import SpecRows

settings.register_profile("check", max_examples=25, deadline=None)
settings.register_profile("torture", max_examples=10_000, deadline=None)


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--spec", action="store_true", help="print which rows of the spec have a passing test")
    parser.addoption("--torture", action="store_true", help="crash, fuzz and fault tests at full size")


def pytest_configure(config: pytest.Config) -> None:
    config.pluginmanager.register(SpecRows(config), "spec_rows")
    settings.load_profile("torture" if config.getoption("--torture") else "check")


@pytest.hookimpl(trylast=True)
def pytest_sessionstart(session: pytest.Session) -> None:
    """Measure no program that a test starts, save the command line: it takes twice as long to start then."""
    commands.measured = os.environ.pop("COVERAGE_PROCESS_CONFIG", "")


@pytest.fixture(scope="session")
def size(request: pytest.FixtureRequest) -> Callable[[int, int], int]:
    """Pick the small number in `just check`, the large one in `just torture`."""
    return lambda small, large: large if request.config.getoption("--torture") else small


@pytest.fixture(scope="session")
def known_packs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What is known of the shipped packs after a first start, which every test would make again otherwise."""
    file = tmp_path_factory.mktemp("known") / "packs.json"
    index = PackIndex(file)
    for package in (onetool.packs, onetool.starters):
        describe_shipped(package.__name__, Path(package.__path__[0]), index=index, threads=Threads())
    return file


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, known_packs: Path) -> Home:
    """A fresh user: empty config and data directories, standing in an empty working directory."""
    found = Home(tmp_path / "home", tmp_path / "work")
    found.cwd.mkdir()
    found.config.mkdir(parents=True)
    found.state.mkdir(parents=True, mode=0o700)
    shutil.copy(known_packs, found.state / "packs.json")
    for name, value in found.env.items():
        monkeypatch.setenv(name, value)
    monkeypatch.chdir(found.cwd)
    return found
