"""The directories of a user in tests."""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any


@dataclass(frozen=True)
class Home:
    """The directories of a user, empty except for what a test writes."""

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
        """Write a file to the config directory, for example `tools/x.py` or `onetool.yaml`."""
        file = self.config / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")
        file.chmod(mode)
        return file

    def log(self) -> list[dict[str, Any]]:
        """Return the records in the log file."""
        file = self.state / "onetool.jsonl"
        return [json.loads(line) for line in file.read_text().splitlines()] if file.exists() else []
