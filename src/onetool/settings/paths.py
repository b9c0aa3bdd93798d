"""Paths: the user's directories and the project of the working directory."""

import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

PROJECT_DIR = ".onetool"


@dataclass(frozen=True, slots=True, kw_only=True)
class Paths:
    """The directories of one runtime. They need not exist."""

    config: Path
    data: Path
    state: Path
    cwd: Path
    project: Path | None = None
    """The nearest `.onetool` directory at or above the working directory."""

    @property
    def protected(self) -> tuple[Path, ...]:
        """Directories that packs must not access for a model."""
        paths = (self.config, self.data, self.state, *([self.project] if self.project else ()))
        return tuple(path.resolve() for path in paths)

    @property
    def log_file(self) -> Path:
        """The log file that all processes of the user share."""
        return self.state / "onetool.jsonl"

    @property
    def reload_file(self) -> Path:
        """The file that signals a reload to the user's other processes."""
        return self.state / "reloaded"

    @property
    def provider_file(self) -> Path:
        """The file with the name of the default chat model provider."""
        return self.data / "provider"

    @property
    def reports(self) -> Path:
        """The directory of reports that cannot be written to the working directory."""
        return self.data / "reports"

    def model_dir(self, configured: str | None) -> Path:
        """Return the directory of the embedding model: the configured one, or `model` in `data`."""
        return self.cwd / Path(configured).expanduser() if configured else self.data / "model"


def find_paths(env: Mapping[str, str], cwd: Path, platform: str = sys.platform) -> Paths:
    """Return the directories from the environment, or the defaults of the platform."""
    config, data, state = (
        Path(env.get(f"ONETOOL_{kind}_DIR") or _default_dir(kind, env, platform)).expanduser().absolute()
        for kind in ("CONFIG", "DATA", "STATE")
    )
    project = _find_project(cwd, excluded={config, data, state})
    return Paths(config=config, data=data, state=state, cwd=cwd, project=project)


def _default_dir(kind: str, env: Mapping[str, str], platform: str) -> Path:
    if platform == "win32":
        base = env.get("APPDATA" if kind == "CONFIG" else "LOCALAPPDATA") or "~/AppData/Local"
        return Path(base) / "onetool" / kind.lower()
    if platform == "darwin":
        return Path("~/Library/Application Support/onetool") / kind.lower()
    default = {"CONFIG": "~/.config", "DATA": "~/.local/share", "STATE": "~/.local/state"}[kind]
    return Path(env.get(f"XDG_{kind}_HOME") or default) / "onetool"


def _find_project(cwd: Path, excluded: set[Path]) -> Path | None:
    home = Path.home()
    for folder in (cwd, *cwd.parents):
        candidate = folder / PROJECT_DIR
        if candidate.is_dir() and candidate.resolve() not in {path.resolve() for path in excluded}:
            return candidate.resolve()  # a link refers to the project that it points to
        if folder == home:
            return None
    return None
