"""Options and fixtures that every test may use."""

import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from hypothesis import settings

from spec_rows import SpecRows

settings.register_profile("check", max_examples=60, deadline=None)
settings.register_profile("torture", max_examples=2_000, deadline=None)


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


@dataclass(frozen=True)
class Home:
    """The directories of a user who has nothing but what the test writes."""

    root: Path
    cwd: Path

    @property
    def config(self) -> Path:
        return self.root / "config"

    @property
    def state(self) -> Path:
        return self.root / "state"

    @property
    def env(self) -> dict[str, str]:
        return {f"ONETOOL_{kind}_DIR": str(self.root / kind.lower()) for kind in ("CONFIG", "DATA", "STATE")}

    def write(self, name: str, text: str, mode: int = 0o600) -> Path:
        """Write a file into the config directory, as `tools/x.py` or `onetool.yaml`."""
        file = self.config / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")
        file.chmod(mode)
        return file

    def log(self) -> list[dict[str, Any]]:
        """The records that have been written to the log file."""
        file = self.state / "onetool.jsonl"
        return [json.loads(line) for line in file.read_text().splitlines()] if file.exists() else []


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
