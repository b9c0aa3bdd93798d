"""`onetool worker` as a process."""

import os
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import pytest

from support import cli_process
from support.hosted_process import Installation
from support.rest_process import PROBES, new_id, write_private
from support.waiting import HANG_S

READY = "OneTool runs queued jobs.\n"


class WorkerProcess:
    """A worker of an installation, with the packs of the tests."""

    def __init__(self, root: Path, installation: Installation, *options: str) -> None:
        self.root, self.installation, self.options = root, installation, options
        write_private(root / "config" / "tools" / "probes.py", PROBES)

    def start(self) -> "WorkerProcess":
        """Start the process and wait until it works."""
        self.errors = self.root / f"worker-{new_id()}.txt"
        names = ("config", "data", "state")
        env = {f"ONETOOL_{name.upper()}_DIR": str(self.root / name) for name in names}
        env |= {"ONETOOL_DATABASE_URL": self.installation.url, "ONETOOL_KEYS": self.installation.keys}
        if cli_process.coverage_config:
            env["COVERAGE_PROCESS_CONFIG"] = cli_process.coverage_config
        with self.errors.open("wb") as errors:
            self.process = subprocess.Popen(
                [sys.executable, "-m", "onetool", "worker", *self.options],
                env=os.environ | env,
                cwd=self.root,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=errors,
                text=True,
            )
        watchdog = threading.Timer(HANG_S, self.process.kill)
        watchdog.start()
        line = self.process.stdout.readline() if self.process.stdout else ""
        watchdog.cancel()
        if line != READY:
            self.stop()
            pytest.fail(f"the worker did not start: {line!r} {self.errors.read_text()[-2000:]}")
        return self

    def kill(self) -> None:
        """End the process without giving it time."""
        self.process.kill()
        self.process.wait(HANG_S)

    def stop(self) -> int:
        """Terminate the process as a service manager does, and return its exit code."""
        self.process.terminate()
        try:
            return self.process.wait(HANG_S)
        finally:
            self.process.kill()
            if self.process.stdout:
                self.process.stdout.close()

    def __enter__(self) -> "WorkerProcess":
        return self.start()

    def __exit__(self, *_: Any) -> None:
        self.stop()
