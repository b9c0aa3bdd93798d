"""Where things lie: the user's directories, and the project somebody stands in."""

import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

PROJECT_DIR = ".onetool"


@dataclass(frozen=True, slots=True, kw_only=True)
class Places:
    """Directories of one OneTool; nothing here needs to exist."""

    config: Path
    data: Path
    state: Path
    cwd: Path
    project: Path | None = None
    """The nearest `.onetool` directory at or above the working directory."""

    @property
    def protected(self) -> tuple[Path, ...]:
        """Directories that no pack opens on a model's behalf."""
        own = (self.config, self.data, self.state)
        return tuple(path.resolve() for path in (*own, *([self.project] if self.project else ())))

    @property
    def log_file(self) -> Path:
        """The log that every process of this user appends to."""
        return self.state / "onetool.jsonl"

    @property
    def reload_file(self) -> Path:
        """Written whenever somebody reloads: all processes of this user follow."""
        return self.state / "reloaded"

    @property
    def provider_file(self) -> Path:
        """Which chat model this user has chosen."""
        return self.data / "provider"

    def model_dir(self, chosen: str | None) -> Path:
        """Where the embedding model lies: where the settings say, else among the data."""
        return self.cwd / Path(chosen).expanduser() if chosen else self.data / "model"


def find_places(env: Mapping[str, str], cwd: Path, platform: str = sys.platform) -> Places:
    """Directories named by the environment, else the platform's own."""
    config, data, state = (
        Path(env.get(f"ONETOOL_{kind}_DIR") or _usual(kind, env, platform)).expanduser().absolute()
        for kind in ("CONFIG", "DATA", "STATE")
    )
    project = _find_project(cwd, not_these={config, data, state})
    return Places(config=config, data=data, state=state, cwd=cwd, project=project)


def _usual(kind: str, env: Mapping[str, str], platform: str) -> Path:
    if platform == "win32":
        base = env.get("APPDATA" if kind == "CONFIG" else "LOCALAPPDATA") or "~/AppData/Local"
        return Path(base) / "onetool" / kind.lower()
    if platform == "darwin":
        return Path("~/Library/Application Support/onetool") / kind.lower()
    usual = {"CONFIG": "~/.config", "DATA": "~/.local/share", "STATE": "~/.local/state"}[kind]
    return Path(env.get(f"XDG_{kind}_HOME") or usual) / "onetool"


def _find_project(cwd: Path, not_these: set[Path]) -> Path | None:
    home = Path.home()
    for folder in (cwd, *cwd.parents):
        candidate = folder / PROJECT_DIR
        if candidate.is_dir() and candidate.resolve() not in {one.resolve() for one in not_these}:
            return candidate.resolve()  # a link elsewhere is that other project
        if folder == home:
            return None
    return None
